import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from model_folders import (
    AGAIN,
    CARD,
    FILES,
    NAME_RULE,
    UNCHANGED,
    leftovers,
    refused,
    refused_with,
    version_of,
    write,
    write_version,
)

from transformer_viz import store
from transformer_viz.store import ModelError, list_models, read_model
from transformer_viz.store.folders import DAY


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def names(folder):
    return [model.name for model in list_models(folder)]


def test_a_renamed_model_is_the_same_model_under_another_name(model):
    before, stamp = contents(model), store.stamp(model)
    store.rename_model("tiny", "small", model.parent)
    assert names(model.parent) == ["small"]
    assert contents(model.parent / "small") == before
    assert store.stamp("small", model.parent) == stamp
    assert read_model("small", model.parent).name == "small"


def test_a_duplicate_is_equal_and_stands_on_its_own(model):
    store.duplicate_model("tiny", "twin", model.parent)
    assert contents(model.parent / "twin") == contents(model)
    assert sorted(contents(model)) == FILES
    (model.parent / "twin" / "card.json").write_text("")
    assert read_model(model).card == CARD


def test_a_deleted_model_is_gone_and_restored_exactly(model):
    before, stamp = contents(model), store.stamp(model)
    deleted = store.delete_model("tiny", model.parent)
    assert (deleted.name, names(model.parent)) == ("tiny", [])
    with refused_with("There is no model"):
        read_model("tiny", model.parent)
    store.restore_model(deleted)
    assert (contents(model), store.stamp(model), leftovers(model.parent)) == (before, stamp, [])


def test_a_name_that_was_deleted_is_free_at_once(model):
    first = store.delete_model("tiny", model.parent)
    write_version(model.parent, 2)
    second = store.delete_model("tiny", model.parent)
    store.restore_model(first)
    assert read_model(model).card == CARD
    store.delete_model("tiny", model.parent)
    store.restore_model(second)
    assert version_of(read_model(model)) == 2


def test_a_restored_model_never_replaces_another(model):
    deleted = store.delete_model("tiny", model.parent)
    write_version(model.parent, 2)
    sentence = (
        f"{model} cannot be restored: another model has been given that name meanwhile. "
        "Rename that one first."
    )
    with refused(sentence):
        store.restore_model(deleted)
    model.rename(model.parent / ".old-tiny")  # a writer at work
    with refused(sentence):
        store.restore_model(deleted)
    assert version_of(read_model("tiny", model.parent)) == 2
    store.rename_model("tiny", "other", model.parent)
    store.restore_model(deleted)
    assert names(model.parent) == ["other", "tiny"]


def test_what_the_trash_no_longer_holds_is_not_restored(model):
    deleted = store.delete_model("tiny", model.parent)
    store.empty_trash(model.parent, older_than=0)
    with refused(f"{model} cannot be restored: it was restored already, or the trash was emptied."):
        store.restore_model(deleted)
    assert leftovers(model.parent) == []


def test_the_trash_is_emptied_after_a_day_and_of_nothing_else(model):
    now, part = int(time.time()), "0" * 16
    old, new = f".trash-a-{now - DAY - 5}-{part}", f".trash-b-{now - DAY + 60}-{part}"
    kept = [new, ".trash-mine", f".trash-a-{now - 2 * DAY}-{part}.backup"]
    for name in [old, *kept]:
        (model.parent / name).mkdir()
    store.empty_trash(model.parent)
    assert sorted(leftovers(model.parent)) == sorted(kept)
    store.empty_trash(model.parent / "nowhere")


def test_deleting_empties_the_trash_of_those_who_never_came_back(model):
    (model.parent / (".trash-a-1-" + "0" * 16)).mkdir()
    deleted = store.delete_model("tiny", model.parent)
    assert leftovers(model.parent) == [deleted.path.name]


def test_a_damaged_model_can_be_renamed_and_deleted_but_not_duplicated(model):
    (model / "manifest.json").unlink()
    with refused(
        f"{model / 'manifest.json'} is missing: the folder is no model, or not a whole one. {AGAIN}"
    ):
        store.duplicate_model("tiny", "twin", model.parent)
    store.rename_model("tiny", "damaged", model.parent)
    store.restore_model(store.delete_model("damaged", model.parent))
    assert names(model.parent) == ["damaged"]
    assert leftovers(model.parent) == []


def test_a_copy_of_a_changed_file_is_not_made(model):
    data = bytearray((model / "parameters.safetensors").read_bytes())
    data[-1] ^= 1
    (model / "parameters.safetensors").write_bytes(data)
    with refused_with("parameters.safetensors is damaged: its sha256 is not the one in manifest.json."):
        store.duplicate_model("tiny", "twin", model.parent)
    assert names(model.parent) == ["tiny"]


@pytest.mark.parametrize("change", [store.rename_model, store.duplicate_model])
def test_a_new_name_must_be_fit_and_free(model, change):
    write(model.parent, "other")
    for name in ("../x", "A", "", "con", None):
        with refused_with(NAME_RULE):
            change("tiny", name, model.parent)
    with refused_with(f"{model.parent / 'other'} exists already. Choose another name"):
        change("tiny", "other", model.parent)
    with refused_with(f"{model} exists already."):
        change("tiny", "tiny", model.parent)
    assert names(model.parent) == ["other", "tiny"]


CHANGES = {
    "rename": lambda name, folder: store.rename_model(name, "new", folder),
    "duplicate": lambda name, folder: store.duplicate_model(name, "new", folder),
    "delete": store.delete_model,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_a_model_that_is_there_can_be_changed(model, change):
    for name in ("../models/tiny", "..", "/", "", str(model)):
        with refused_with(NAME_RULE):
            change(name, model.parent)
    with refused_with(f"There is no model {model.parent / 'gone'}."):
        change("gone", model.parent)
    assert names(model.parent) == ["tiny"]


def test_what_holds_more_than_a_model_is_not_deleted(model):
    (model / "thesis.txt").write_text("years of work")
    with refused(f"{model} holds more than a model and is not deleted: 'thesis.txt'. Move that away first."):
        store.delete_model("tiny", model.parent)
    assert (model / "thesis.txt").exists()


def test_a_link_is_left_to_who_made_it(model):
    link = model.parent / "link"
    link.symlink_to(model)
    for change in (store.delete_model, lambda name, folder: store.rename_model(name, "new", folder)):
        with refused(f"{link} is a link. Rename or remove it where it was made."):
            change("link", model.parent)


def test_an_older_model_never_comes_back_in_the_place_of_one_that_left(tmp_path):
    for change in ("delete", "rename"):
        write_version(tmp_path, 1).rename(tmp_path / ".old-tiny")
        shutil.copytree(tmp_path / ".old-tiny", tmp_path / "tiny")
        CHANGES[change]("tiny", tmp_path)
        assert "tiny" not in names(tmp_path)


def test_a_model_between_two_renames_of_a_killed_writer_can_be_renamed_and_deleted(tmp_path):
    write_version(tmp_path, 1).rename(tmp_path / ".old-tiny")
    store.rename_model("tiny", "new", tmp_path)
    assert version_of(read_model("new", tmp_path)) == 1
    assert leftovers(tmp_path) == []
    (tmp_path / "new").rename(tmp_path / ".old-new")
    store.restore_model(store.delete_model("new", tmp_path))
    assert version_of(read_model("new", tmp_path)) == 1


@pytest.mark.parametrize("change", ["rename", "delete"])
def test_a_disk_that_refuses_is_a_sentence_and_nothing_changed(model, monkeypatch, change):
    def refuse(*paths):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        with refused_with(f"cannot be written: Permission denied. {UNCHANGED}"):
            CHANGES[change]("tiny", model.parent)
    assert read_model(model).card == CARD
    assert leftovers(model.parent) == []


def test_trash_that_cannot_be_removed_stays(model, monkeypatch):
    store.delete_model("tiny", model.parent)

    def refuse(*paths):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        store.empty_trash(model.parent, older_than=0)
    assert len(leftovers(model.parent)) == 1


MANAGER = """
import sys
from pathlib import Path
from transformer_viz import store

folder = Path(sys.argv[1])
print("ready", flush=True)
while True:
    [name] = [model.name for model in store.list_models(folder)]
    other = "b" if name == "a" else "a"
    store.duplicate_model(name, other, folder)
    deleted = store.delete_model(name, folder)
    store.restore_model(deleted)
    store.delete_model(name, folder)
    store.rename_model(other, "c", folder)
    store.rename_model("c", other, folder)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.thorough)])
def test_a_manager_killed_at_any_moment_leaves_whole_models(tmp_path, kills):
    rng = random.Random(13)
    write_version(tmp_path, 7, name="a")
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", MANAGER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as manager:
            assert manager.stdout.readline()
            time.sleep(rng.uniform(0, 0.1))
            manager.send_signal(signal.SIGKILL)
        assert manager.returncode == -signal.SIGKILL
        models = list_models(tmp_path)
        assert models
        for model in models:
            assert model.problem is None
            assert version_of(read_model(model.name, tmp_path)) == 7
        for model in models[1:]:
            store.delete_model(model.name, tmp_path)
        if models[0].name == "c":
            store.rename_model("c", "a", tmp_path)
    store.empty_trash(tmp_path, older_than=0)
    write_version(tmp_path, 8, name="last")
    assert leftovers(tmp_path) == []


def failing(function, number, calls):
    """Return a function of the disk that fails when it is the `number`-th of all calls."""

    def call(*args, **kwargs):
        calls.append(function)
        if len(calls) == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return function(*args, **kwargs)

    return call


def test_whichever_call_of_a_duplication_fails_there_is_a_whole_copy_or_none(model, monkeypatch):
    for number in itertools.count(1):
        calls, error = [], None
        with monkeypatch.context() as patch:
            for name in ("fsync", "rename", "mkdir"):
                patch.setattr(os, name, failing(getattr(os, name), number, calls))
            try:
                store.duplicate_model("tiny", "twin", model.parent)
            except ModelError as caught:
                error = str(caught)
        assert names(model.parent) == (["tiny"] if error else ["tiny", "twin"])
        assert leftovers(model.parent) == []
        if len(calls) < number:
            break
        if error is None:
            shutil.rmtree(model.parent / "twin")
        else:
            assert error.endswith(f"twin cannot be written: {os.strerror(errno.EIO)}. {UNCHANGED}")
    assert number > 8
