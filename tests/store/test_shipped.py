"""The shelf of an installed package: the user's own models, and behind them the shipped ones, only read."""

import os

import pytest
from model_folders import CARD, refused, refused_with, version_of, write, write_version
from small_models import write as write_explorer

from transformer_viz import store
from transformer_viz.service import admission
from transformer_viz.store import places
from transformer_viz.training.runs.listing import runs_folder

KEPT = "tiny came with the app and stays as it is. Duplicate it: the copy is yours to change."


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """The shipped models, `tiny` and `other`, of a package that is installed; the user has none yet."""
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(places.platformdirs, "user_data_path", lambda *_, **__: tmp_path / "data")
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    monkeypatch.delenv("TRANSFORMER_VIZ_RUNS", raising=False)
    for name in ("tiny", "other"):
        write_version(tmp_path / "shipped" / "models", 1, name=name)
    return tmp_path / "shipped" / "models"


@pytest.fixture
def own(shipped):
    """Where the user's models go; not there yet."""
    return shipped.parents[1] / "data" / "models"


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names():
    return [model.name for model in store.list_models()]


def test_models_and_runs_of_an_installed_package_go_into_the_data_folder(shipped, own):
    assert store.models_folder() == own
    assert runs_folder() == own.parent / "runs"


def test_the_environment_is_the_whole_shelf_where_it_is_set(shipped, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "mine"))
    write(tmp_path / "mine", "single")
    assert names() == ["single"]
    with refused_with("There is no model", "single"):
        store.read_model("tiny")


def test_shipped_models_are_listed_and_found_beside_own_ones(shipped, own):
    assert names() == ["other", "tiny"]
    write_version(own, 2, name="mine")
    assert names() == ["mine", "other", "tiny"]
    assert [model.reference for model in store.list_models()] == ["mine", "other", "tiny"]
    assert version_of(store.read_model("tiny")) == 1
    assert version_of(store.read_model("mine")) == 2
    assert store.stamp("tiny") != store.stamp("mine")
    with refused_with("Models in that place: mine, other, tiny."):
        store.read_model("missing")


def test_a_folder_that_is_given_stands_alone(shipped, own):
    write(own, "mine")
    assert [model.name for model in store.list_models(own)] == ["mine"]
    assert [model.name for model in store.list_models(shipped)] == ["other", "tiny"]
    with refused_with("Models in that place"):
        store.read_model("tiny", own / "none")


def test_shipped_models_can_be_neither_renamed_nor_deleted_nor_written_to(shipped, own):
    before = files(shipped)
    for folder in (None, shipped, f"{shipped}{os.sep}"):
        for change in (
            lambda folder: store.rename_model("tiny", "new", folder),
            lambda folder: store.delete_model("tiny", folder),
            lambda folder: store.write_in_card("tiny", {}, folder),
        ):
            with refused(KEPT):
                change(folder)
    assert files(shipped) == before
    assert not own.exists()


@pytest.mark.parametrize("given", [True, False])
def test_a_copy_of_a_shipped_model_is_the_user_s(shipped, own, given):
    before = files(shipped)
    store.duplicate_model("tiny", "copy", shipped if given else None)
    assert (own / "copy" / "manifest.json").read_bytes() == (shipped / "tiny" / "manifest.json").read_bytes()
    store.rename_model("copy", "renamed")
    store.restore_model(store.delete_model("renamed"))
    assert names() == ["other", "renamed", "tiny"]
    assert files(shipped) == before


def test_the_name_of_a_shipped_model_is_taken(shipped, own, tmp_path):
    write(own, "mine")
    packed = tmp_path / "tiny.zip"
    packed.write_bytes(store.pack_model("tiny"))
    for add in (
        lambda: write(None, "tiny"),
        lambda: store.check_writable("tiny", folder=own),
        lambda: store.rename_model("mine", "tiny", own),
        lambda: store.duplicate_model("mine", "tiny"),
        lambda: store.unpack_model(packed.read_bytes()),
    ):
        with refused_with(f"{shipped / 'tiny'} exists already. Choose another name"):
            add()
    write(tmp_path / "elsewhere", "tiny")


def test_an_upload_with_the_name_of_a_shipped_model_needs_another_one(shipped, own, explorer, tmp_path):
    write_explorer(explorer, shipped)
    packed = tmp_path / "small.zip"
    packed.write_bytes(store.pack_model("small"))
    with pytest.raises(admission.UnfitNameError) as error:
        admission.admit_model(packed)
    assert error.value.name == "small"
    assert admission.admit_model(packed, name="guest") == "guest"
    assert (own / "guest").is_dir()


def test_a_model_that_overwrites_a_shipped_one_hides_it_until_it_is_deleted(shipped, own):
    before = files(shipped)
    write_version(None, 2, name="tiny", overwrite=True)
    assert names() == ["other", "tiny"]
    assert version_of(store.read_model("tiny")) == 2
    assert store.read_model("tiny").path == own / "tiny"
    store.delete_model("tiny")
    assert version_of(store.read_model("tiny")) == 1
    assert files(shipped) == before


def test_shipped_models_take_none_of_the_room(shipped, own, monkeypatch):
    size = sum(path.stat().st_size for path in (shipped / "tiny").iterdir())
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS_BYTES", str(size))
    assert store.usage() == (0, 0, size)
    store.duplicate_model("tiny", "copy")
    with pytest.raises(store.QuotaError):
        store.duplicate_model("tiny", "another")


def test_a_checkout_has_one_shelf_in_which_everything_may_be_changed(tmp_path, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "transformer_viz")
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "transformer_viz" / "shipped")
    write(tmp_path / "models")
    assert store.shelves() == (tmp_path / "models",)
    store.rename_model("tiny", "new")
    assert store.read_model("new").card == CARD
