"""Cached list of models: unchanged folders are not read again."""

import functools
import os
import time
from pathlib import Path
from typing import NamedTuple

from transformer_viz.store.card import presentable
from transformer_viz.store.folders import existing_folder
from transformer_viz.store.format import ModelError, ModelSummary, checked_name
from transformer_viz.store.names import is_name
from transformer_viz.store.places import shelves
from transformer_viz.store.read import config_and_card, names_in, read_consistent

SETTLED = 2 * 10**9
"""Nanoseconds within which two changes of a file may have the same time on some file system."""

KEPT = 2_000
"""Cached summaries over all folders."""


def list_models(folder: Path | None = None) -> list[ModelSummary]:
    """Return the models of a folder, sorted by name, without reading their parameters.

    Args:
        folder: Folder of models; None: the shelf (`shelves`). A missing folder holds no models.

    Returns:
        A summary of each folder, broken ones included; hidden folders and files are left out. Summaries of
        unchanged models are shared and must not be modified.

    Raises:
        ModelError: If `folder` itself cannot be listed.
    """
    found = {name: shelf for shelf in reversed(shelves(folder)) for name in names_in(shelf)}
    return [_summary(found[name] / name) for name in sorted(found)]


def find_model(name: str, folder: Path | None = None) -> ModelSummary | None:
    """Return one of the models of `list_models`, without looking at the others; None: there is no such model.

    Args:
        name: Its name.
        folder: As for `list_models`.
    """
    paths = (shelf / name for shelf in shelves(folder)) if is_name(name) else ()
    return next((_summary(path) for path in paths if existing_folder(path)), None)


def _summary(path):
    """Return the summary of a model, from the cache if its folder has been the same for a while."""
    marks = _marks(path)
    newest = max((mark.newest for mark in marks), default=time.time_ns())
    read = _read_summary if newest < time.time_ns() - SETTLED else _read_summary.__wrapped__
    try:
        return read(path, marks)
    except ModelError as error:
        return _broken(path, marks, error)


@functools.lru_cache(maxsize=KEPT)
def _read_summary(path, marks):
    """Read the summary of a model; an error of the disk is raised and so not cached: it may pass."""
    try:
        checked_name(path.name)
        config, card = read_consistent(path, config_and_card)
    except ModelError as error:
        if isinstance(error.__context__, OSError):
            raise
        return _broken(path, marks, ModelError.from_json(error.to_json()))  # without its traceback
    return ModelSummary(path.name, config, presentable(card), _size(marks), None, path)


def _broken(path, marks, error):
    return ModelSummary(path.name, None, {}, _size(marks), error, path)


def _size(marks):
    return sum(mark.size for mark in marks if mark.name)


class _Mark(NamedTuple):
    """The fields of `stat` that reveal any change of a file."""

    name: str
    mode: int
    inode: int
    size: int
    modified: int
    changed: int

    @property
    def newest(self):
        return max(self.modified, self.changed)


def _marks(path):
    """Return the marks of all files in a model's folder, and of the folder itself under the name ""."""
    place = os.fspath(existing_folder(path) or path)
    try:
        with os.scandir(place) as entries:
            files = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        return (*(_mark(name, found) for name, found in files), _mark("", os.lstat(place)))
    except OSError:
        return ()


def _mark(name, found):
    return _Mark(name, found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
