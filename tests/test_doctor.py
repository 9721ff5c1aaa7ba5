"""Each thing that can be wrong is found and has a remedy."""

import socket
from types import SimpleNamespace

import pytest
from chinese import is_chinese

from transformer_viz.cli import doctor
from transformer_viz.cli.language import speaking
from transformer_viz.store import places


def test_a_folder_that_cannot_be_made_is_named_with_the_variable_that_moves_it(tmp_path):
    (tmp_path / "file").touch()
    (finding,) = doctor.folder("runs", tmp_path / "file" / "runs")
    assert "cannot be written" in finding.fact
    assert "TRANSFORMER_VIZ_RUNS" in finding.remedy


def test_a_full_disk_and_little_memory_have_remedies(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: SimpleNamespace(free=5e8))
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: SimpleNamespace(available=1e9, total=8e9))
    (finding,) = doctor.folder("models", tmp_path)
    assert finding.remedy.startswith("Make space, or set TRANSFORMER_VIZ_MODELS")
    assert doctor.memory().fact == "1.0 of 8.0 GB free"
    assert doctor.memory().remedy.startswith("Close other programs")


def test_nothing_is_left_in_a_folder_that_was_looked_at(tmp_path):
    (finding,) = doctor.folder("models", tmp_path)
    assert not finding.remedy
    assert not list(tmp_path.iterdir())


def test_a_package_that_is_missing_or_of_another_version_has_a_remedy(tmp_path, monkeypatch):
    pins = tmp_path / "requirements.txt"
    pins.write_text("numpy==0.1 \\\n    --hash=sha256:00\nno-such-package==2.0  # why\n# pandas==1\n")
    monkeypatch.setattr(doctor, "REQUIREMENTS", pins)
    assert doctor.pins() == {"numpy": "0.1", "no-such-package": "2.0"}
    other, missing = doctor.packages()
    assert "0.1 is what the app was tested with" in other.remedy
    assert (missing.fact, missing.remedy) == ("missing", doctor.INSTALL)


def test_the_installed_packages_are_the_pinned_ones():
    found = list(doctor.packages())
    assert len(found) > 10
    assert not [finding for finding in found if finding.remedy]


def test_an_installed_app_asks_for_packages_in_ranges(monkeypatch, tmp_path):
    asked = [
        "numpy>=1",
        "pandas<1",
        "no-such-package>=2",
        "gone; python_version < '3'",
        "extra; extra == 'gpu'",
        f"{doctor.DISTRIBUTION}[models]; extra == 'app'",
        "packaging>=1; extra == 'models'",
    ]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: asked)
    monkeypatch.setattr(places, "SHIPPED", tmp_path)
    good, old, missing, of_extra = doctor.packages()
    assert (of_extra.subject, of_extra.remedy) == ("packaging", "")
    assert (good.subject, good.remedy) == ("numpy", "")
    assert (old.subject, old.remedy) == ("pandas", 'pip install "pandas<1"')
    assert missing == ("no-such-package", "missing", 'pip install "no-such-package>=2"', True)


@pytest.mark.parametrize(("version", "good"), [((3, 10), False), ((3, 11), True), ((3, 14), False)])
def test_a_python_without_builds_of_the_packages_is_named(monkeypatch, version, good):
    monkeypatch.setattr(doctor.sys, "version_info", (*version, 0))
    assert bool(doctor.python().remedy) != good


def test_a_port_in_use_is_said(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("STREAMLIT_SERVER_PORT", str(listener.getsockname()[1]))
        assert "is in use" in doctor.port().fact
    assert "is free" in doctor.port().fact


def test_a_broken_model_is_named_among_good_ones(models_folder):
    broken = models_folder / "cut"
    broken.mkdir()
    try:
        shelf, cut = doctor.broken_models()
    finally:
        broken.rmdir()
    assert shelf.fact == "1 can be opened"
    assert cut.subject == "cut"
    assert cut.remedy


def test_a_broken_shipped_model_is_mended_by_installing_again(tmp_path, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    monkeypatch.setattr(places, "SHIPPED", tmp_path)
    monkeypatch.setattr(places.platformdirs, "user_data_path", lambda *_, **__: tmp_path / "data")
    (tmp_path / "models" / "cut").mkdir(parents=True)
    _, cut = doctor.broken_models()
    assert (cut.subject, cut.remedy) == ("cut", "Install Transformer Viz again.")


def test_an_engine_that_does_not_answer_is_a_finding(models_folder, monkeypatch):
    def fail(*_, **__):
        raise doctor.EngineError("died")

    assert "answers" in doctor.engine().fact
    monkeypatch.setattr(doctor.Engine, "answer", fail)
    assert doctor.engine().fact == "does not answer: died"


def test_why_a_model_is_broken_is_in_the_language_that_is_asked_for(models_folder):
    broken = models_folder / "cut"
    broken.mkdir()
    try:
        with speaking("zh"):
            _, cut = doctor.broken_models()
    finally:
        broken.rmdir()
    assert is_chinese(cut.fact)
    assert is_chinese(cut.remedy)


def test_findings_and_remedies_are_in_the_language_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    (tmp_path / "file").touch()
    (finding,) = doctor.folder("runs", tmp_path / "file" / "runs")
    assert finding.fact == f"{tmp_path}/file/runs 无法写入：这不是文件夹"
    assert finding.remedy == "请给予当前用户写入权限，或将 TRANSFORMER_VIZ_RUNS 设为其他文件夹。"
