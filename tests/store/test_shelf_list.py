"""The list of models reads what has changed, and nothing else."""

import errno
import os
import time
from pathlib import Path

import pytest
from model_folders import CARD, put, sign, write, write_version

from transformer_viz import store
from transformer_viz.store import list_models, listing


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Keep what was read at once, so that no test has to wait until it is old."""
    monkeypatch.setattr(listing, "SETTLED", 0)


def tick():
    """Wait until a change has another time."""
    time.sleep(0.05)


def reads(monkeypatch, folder):
    """Return how many files a list reads."""
    calls = []
    with monkeypatch.context() as patch:
        read = Path.read_bytes
        patch.setattr(Path, "read_bytes", lambda path: calls.append(path) or read(path))
        list_models(folder)
    return len(calls)


def test_what_has_not_changed_is_not_read_again(model, monkeypatch):
    (write(model.parent, "bad") / "tokenizer.json").unlink()
    tick()
    first = list_models(model.parent)
    tick()
    assert reads(monkeypatch, model.parent) == 0
    again = list_models(model.parent)
    assert again == first
    assert [model.problem is None for model in again] == [False, True]


def rewrite(file, data):
    """Write into a file in place and put its time back: only what the system alone writes can tell."""
    found = file.stat()
    with file.open("r+b") as stream:
        stream.write(data)
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


CHANGES = {
    "a byte in place": lambda model: rewrite(model / "card.json", b" "),
    "a new card": lambda model: put(model, "card.json", '{"task": "other"}'),
    "written anew": lambda model: write_version(model.parent, 2, overwrite=True),
    "a file more": lambda model: (model / "notes.txt").write_text(""),
    "a file less": lambda model: (model / "tokenizer.json").unlink(),
    "a link": lambda model: ((model / "card.json").unlink(), (model / "card.json").symlink_to("x")),
    "a longer file": lambda model: os.truncate(model / "parameters.safetensors", 5),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_noticed(model, change):
    tick()
    before = list_models(model.parent)
    tick()
    change(model)
    assert list_models(model.parent) != before


def test_a_broken_model_that_was_mended_is_listed_as_it_is(model):
    data = (model / "card.json").read_bytes()
    (model / "card.json").write_bytes(data[:-1])
    tick()
    assert list_models(model.parent)[0].problem
    tick()
    (model / "card.json").write_bytes(data)
    sign(model)
    assert list_models(model.parent)[0].card == CARD


def test_a_model_that_came_went_or_was_renamed_is_noticed(model):
    tick()
    assert [each.name for each in list_models(model.parent)] == ["tiny"]
    store.rename_model("tiny", "small", model.parent)
    assert [each.name for each in list_models(model.parent)] == ["small"]
    deleted = store.delete_model("small", model.parent)
    assert list_models(model.parent) == []
    store.restore_model(deleted)
    store.duplicate_model("small", "tiny", model.parent)
    assert [each.name for each in list_models(model.parent)] == ["small", "tiny"]


def test_a_model_put_in_the_place_of_another_is_noticed(model):
    write_version(model.parent, 2, name="other")
    tick()
    list_models(model.parent)
    store.delete_model("tiny", model.parent)
    os.rename(model.parent / "other", model)
    assert [each.card for each in list_models(model.parent)] == [{"version": 2}]


def test_what_changed_a_moment_ago_is_read_again(model, monkeypatch):
    monkeypatch.setattr(listing, "SETTLED", 10**12)
    list_models(model.parent)
    assert reads(monkeypatch, model.parent) > 0


def test_an_error_of_the_disk_passes(model, monkeypatch):
    def broken(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    tick()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", broken)
        assert "cannot be read: Input/output error" in list_models(model.parent)[0].problem
    assert list_models(model.parent)[0].problem is None


def test_one_model_is_found_as_it_is_listed_without_looking_at_others(model, monkeypatch):
    write_version(model.parent, 2, name="other")
    tick()
    tiny = list_models(model.parent)[1]
    monkeypatch.setattr(listing, "names_in", None)
    assert store.find_model("tiny", model.parent) is tiny
    for name in ("gone", "../tiny", ".old-tiny", ""):
        assert store.find_model(name, model.parent) is None
