"""From an uploaded zip to a model on the shelf, if a separate process has checked and run it.

The app itself never parses such a zip. The checking process has limits of memory and time; it is ended when
it exceeds them, when the caller gives up, and with this process.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from transformer_viz.service.admission.check import LIMITS, Check, Limits
from transformer_viz.store.folders import existing_folder, move, sweep, sync_folder, temporary_in
from transformer_viz.store.format import ModelError, disk_errors, hidden_model
from transformer_viz.store.names import is_name
from transformer_viz.store.places import folder_of_models
from transformer_viz.store.quota import QuotaLike, check_quota, check_space
from transformer_viz.store.write import check_target

PATIENCE = 300
"""Seconds to wait while other models are checked, one at a time."""

_ONE_AT_A_TIME = threading.Lock()


class UnfitNameError(ModelError):
    """The model's name is taken or invalid; the model itself has not been refused.

    Attributes:
        name: The name.
    """

    def __init__(self, error: ModelError, name: str):
        super().__init__(error.code, **error.facts)
        self.name = name


def admit_model(
    data: bytes | memoryview | Path,
    *,
    name: str | None = None,
    folder: Path | None = None,
    quota: QuotaLike = None,
    limits: Limits = LIMITS,
    progress: Callable[[str], None] = lambda stage: None,
) -> str:
    """Store an uploaded model if it is complete, safe and within the limits.

    Args:
        data: The zip, or its path.
        name: Name of the model; None: as in the zip.
        folder: Folder of models; None: `models_folder()`. Created if necessary.
        quota: As in `write_model`.
        limits: Limits of the check.
        progress: Called with "wait", "load", "unpack" and "run" when these stages begin.

    Returns:
        The model's name.

    Raises:
        UnfitNameError: If the name is invalid or taken.
        ModelError: If the model is refused; says why.
    """
    folder = folder_of_models(folder)
    with _turn(progress), _hidden_folder(folder) as place:
        packed = _zip_of(data, place, folder / (name or "upload"), quota)
        with Check(packed, place / "model", limits, progress) as check:
            called = check.until("run")["name"]
            target = _free_place(called if name is None else name, folder)
            check.until("done")
        check_quota(target, _size(place / "model"), quota, without=place)
        with disk_errors(target, "written"):
            sync_folder(place / "model")
            move(place / "model", _free_place(target.name, folder))
    return target.name


@contextlib.contextmanager
def _turn(progress):
    """Wait until no other model is being checked."""
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        progress("wait")
        if not _ONE_AT_A_TIME.acquire(timeout=PATIENCE):
            raise ModelError("check.queue")
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()


@contextlib.contextmanager
def _hidden_folder(folder):
    """Yield a hidden folder and remove it at the end; if this process is killed, `sweep` removes it."""
    place = temporary_in(folder)
    try:
        with disk_errors(folder, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            sweep(folder)
            place.mkdir(mode=0o700)
            (place / "model").mkdir()
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _zip_of(data, place, target, quota):
    """Return the path of the zip, writing bytes to a file."""
    if isinstance(data, Path):
        return data.resolve()
    check_quota(target, len(data), quota, without=place)
    with disk_errors(target, "written"):
        check_space(target, 3 * len(data))
        with (place / "model.zip").open("xb") as stream:
            stream.write(data)
    return (place / "model.zip").resolve()


def _free_place(name, folder):
    """Return the path for a model of that name, having checked that it is free."""
    target = folder / name
    is_taken = os.path.lexists(target) or existing_folder(target) or hidden_model(target)
    try:
        return check_target(name, folder=folder)
    except ModelError as error:
        is_unfit = is_taken or not is_name(name)
        raise (UnfitNameError(error, name) if is_unfit else error) from None


def _size(folder):
    with disk_errors(folder, "read"):
        return sum(file.stat().st_size for file in folder.iterdir())
