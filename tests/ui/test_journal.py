"""The log: a line for each page and each failure, and never a word of a visitor's text."""

import logging

import pytest
from bench import bench_on
from pages import again, open_page

from transformer_viz.ui.shell import journal

SECRET = "Zanzibar was a lovely film"


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_LOG", str(tmp_path / "logs" / "app.log"))
    journal.open_log()
    yield tmp_path / "logs" / "app.log"
    for handler in logging.getLogger("transformer_viz.app").handlers:
        handler.close()


@pytest.mark.usefixtures("engine")
def test_a_page_is_a_line_with_visitor_model_time_and_end_but_no_text(log):
    app = open_page(text=SECRET)
    bench_on(app).say(f"{SECRET} again").why()
    again(app)
    lines = [line for line in log.read_text().splitlines() if " page " in line]
    assert len(lines) == 2
    for line in lines:
        assert " page=attention " in line
        assert " model=small " in line
        assert " visitor=" in line
        assert line.endswith(" end=shown")
        assert float(line.partition(" seconds=")[2].split()[0]) >= 0
    assert "Zanzibar" not in log.read_text()


def test_how_a_page_ended_is_named(log):
    with pytest.raises(ValueError, match=SECRET), journal.timed("masks"):
        raise ValueError(SECRET)
    assert log.read_text().endswith(" end=ValueError\n")
    assert SECRET not in log.read_text()


def test_a_log_that_cannot_be_written_goes_to_standard_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSFORMER_VIZ_LOG", str(tmp_path / "file" / "app.log"))
    journal.open_log()
    journal.note("page", end="shown")
    assert "page visitor=server end=shown" in capsys.readouterr().err


def test_a_log_is_put_aside_before_it_grows_large(log, monkeypatch):
    monkeypatch.setattr(journal, "MAX_BYTES", 1000)
    journal.open_log()
    for number in range(200):
        journal.note("page", number=number)
    files = sorted(log.parent.iterdir())
    assert [file.name for file in files] == ["app.log", "app.log.1", "app.log.2", "app.log.3"]
    assert all(file.stat().st_size <= 1000 for file in files)


def test_frames_name_places_and_nothing_else():
    def inner(text):
        raise KeyError(text)

    with pytest.raises(KeyError) as caught:
        inner(SECRET)
    frames = journal.frames_of(caught.value)
    assert frames[-1].startswith("ui/test_journal.py:")
    assert frames[-1].endswith(" inner")
    assert SECRET not in " ".join(frames)
