"""Whichever call of the system fails: a sentence, nothing half done, nothing left behind."""

import errno
import io
import itertools
import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

import pytest
from model_folders import leftovers, read_names, version_of, write, write_version
from unprivileged import modes_count

from transformer_viz import store
from transformer_viz.service import admission
from transformer_viz.store import ModelError, list_models, read_model
from transformer_viz.store.pack import unpack_into

CALLS = ("stat", "lstat", "listdir", "scandir", "mkdir", "rename", "fsync", "open", "statvfs")


class Faults:
    """Lets the `first` of the calls of the system fail; those that only tidy up afterwards go well."""

    def __init__(self, monkeypatch, first, code):
        self.calls, self.first, self.code, self.tidying = 0, first, code, False
        for name in CALLS:
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self.wrapped(getattr(os, name)))
        monkeypatch.setattr(io, "open", self.wrapped(io.open))
        monkeypatch.setattr(shutil, "rmtree", self.tidied(shutil.rmtree))

    def wrapped(self, function):
        def call(*args, **kwargs):
            self.calls += not self.tidying
            if self.calls == self.first and not self.tidying:
                self.calls += 1
                raise OSError(self.code, os.strerror(self.code))
            return function(*args, **kwargs)

        return call

    def tidied(self, function):
        def call(*args, **kwargs):
            self.tidying = True
            try:
                return function(*args, **kwargs)
            finally:
                self.tidying = False

        return call


def packed(folder):
    """Return the zip of a model, which is written elsewhere."""
    write_version(folder.parent / "elsewhere", 1)
    return store.pack_model("tiny", folder.parent / "elsewhere")


def deleted(folder):
    write_version(folder, 1)
    return store.delete_model("tiny", folder)


class Operation(NamedTuple):
    """A change of a folder of models.

    Attributes:
        begin: Makes the folder what it is before, and returns what the change needs.
        do: Makes the change.
        before: Names of the models before it.
        after: Names after it.
        version: Of the models after it, as `version_of`; None: there are none.
        alone: Names after it where the folder has vanished meanwhile; None: that is refused.
    """

    begin: Callable
    do: Callable
    before: list[str]
    after: list[str]
    version: int | None = 1
    alone: list[str] | None = None


def one(folder):
    write_version(folder, 1)


OPERATIONS = {
    "write": Operation(
        lambda folder: None,
        lambda folder, made: write_version(folder, 1),
        before=[],
        after=["tiny"],
        alone=["tiny"],
    ),
    "overwrite": Operation(
        one,
        lambda folder, made: write_version(folder, 2, overwrite=True),
        before=["tiny"],
        after=["tiny"],
        version=2,
        alone=["tiny"],
    ),
    "rename": Operation(
        one,
        lambda folder, made: store.rename_model("tiny", "new", folder),
        before=["tiny"],
        after=["new"],
    ),
    "duplicate": Operation(
        one,
        lambda folder, made: store.duplicate_model("tiny", "twin", folder),
        before=["tiny"],
        after=["tiny", "twin"],
    ),
    "delete": Operation(
        one,
        lambda folder, made: store.delete_model("tiny", folder),
        before=["tiny"],
        after=[],
        version=None,
    ),
    "restore": Operation(
        deleted,
        lambda folder, made: store.restore_model(made),
        before=[],
        after=["tiny"],
    ),
    "unpack": Operation(
        packed,
        lambda folder, made: store.unpack_model(made, folder=folder),
        before=[],
        after=["tiny"],
        alone=["tiny"],
    ),
    "pack": Operation(
        one,
        lambda folder, made: store.pack_model("tiny", folder),
        before=["tiny"],
        after=["tiny"],
    ),
    "describe": Operation(
        one,
        lambda folder, made: store.write_in_card("tiny", {"source": "x"}, folder),
        before=["tiny"],
        after=["tiny"],
    ),
    "admit": Operation(
        packed,
        lambda folder, made: admission.admit_model(made, folder=folder),
        before=[],
        after=["tiny"],
        alone=["tiny"],
    ),
    "empty the trash": Operation(
        deleted,
        lambda folder, made: store.empty_trash(folder, older_than=0),
        before=[],
        after=[],
        version=None,
        alone=[],
    ),
}


CODES = (errno.EIO, errno.ENOSPC)


def check_in_this_process(packed, place, limits):
    """Check a model as the other process does before it runs it: what fails here is this process's disk."""
    yield "run", unpack_into(packed, place)


@pytest.fixture(autouse=True)
def without_another_process(monkeypatch):
    monkeypatch.setattr(admission, "_check", check_in_this_process)


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", OPERATIONS)
def test_whichever_call_fails_it_is_done_whole_or_not_at_all(tmp_path, monkeypatch, name, code):
    operation, failures = OPERATIONS[name], 0
    for first in itertools.count(1):
        folder = tmp_path / str(first) / "models"
        folder.mkdir(parents=True)
        made, error = operation.begin(folder), None
        with monkeypatch.context() as patch:
            faults = Faults(patch, first, code)
            try:
                operation.do(folder, made)
            except ModelError as caught:
                error = str(caught)
        if error is not None:
            failures += 1
            assert error.isprintable()
            assert "Traceback" not in error
        assert read_names(folder) == (operation.before if error else operation.after)
        kept = (".trash-",) if error else (".trash-", ".old-")  # an older model is removed by the next change
        assert [each for each in leftovers(folder) if not each.startswith(kept)] == []
        versions = {version_of(read_model(each, folder)) for each in read_names(folder)}
        assert versions <= {1 if error else operation.version}
        shutil.rmtree(tmp_path / str(first))
        if faults.calls < first:
            assert error is None
            break
    assert first > 2
    assert failures > 3 or name == "empty the trash"


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_folder_that_vanishes_is_a_sentence_or_made_anew(tmp_path, name):
    operation, folder = OPERATIONS[name], tmp_path / "models"
    folder.mkdir()
    made = operation.begin(folder)
    shutil.rmtree(folder)
    if operation.alone is None:
        with pytest.raises(ModelError):
            operation.do(folder, made)
    else:
        operation.do(folder, made)
    assert leftovers(tmp_path) == []
    assert [(each.name, each.problem) for each in list_models(folder)] == [
        (name, None) for name in operation.alone or []
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs the rights of POSIX")
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ("pack", "empty the trash")])
def test_a_folder_that_may_not_be_written_is_a_sentence(tmp_path, name):
    operation, folder = OPERATIONS[name], tmp_path / "models"
    folder.mkdir()
    made = operation.begin(folder)
    folder.chmod(0o555)
    with modes_count(), pytest.raises(ModelError, match=r"cannot be written: Permission denied\."):
        operation.do(folder, made)
    folder.chmod(0o755)
    assert read_names(folder) == operation.before


def test_a_disk_without_space_is_said_before_anything_is_written(tmp_path, monkeypatch):
    write(tmp_path)
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    for do in (lambda: write(tmp_path, "b"), lambda: store.duplicate_model("tiny", "b", tmp_path)):
        with pytest.raises(ModelError, match="Make space, or choose another folder"):
            do()
    assert (read_names(tmp_path), leftovers(tmp_path)) == (["tiny"], [])
