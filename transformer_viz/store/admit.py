"""Models from elsewhere, checked and run by a process of its own before they are put on the shelf.

Not a byte of such a zip is read in this process, and the other one may take so much memory and time and no
more. It is ended as a whole when it does, when whoever waits for it has gone, and with this process.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from transformer_viz.store.atomic import check_space, move_into_place, sync_folder
from transformer_viz.store.checking import LIMITS, Check, Limits
from transformer_viz.store.format import NAME, ModelError, disk_errors, existing_folder, hidden_model
from transformer_viz.store.hidden import sweep, temporary_beside
from transformer_viz.store.places import folder_of_models
from transformer_viz.store.quota import QuotaLike, check_quota
from transformer_viz.store.write import check_target

PATIENCE = 300
"""Seconds to wait while other models are checked: one at a time."""

_ONE_AT_A_TIME = threading.Lock()


class UnfitNameError(ModelError):
    """The model may be good, but its name is taken or unfit.

    Attributes:
        name: What it is called.
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
    """Put a packed model on the shelf if it is whole, safe, and costs what a model may.

    Args:
        data: The zip, or the path of one.
        name: What to call the model; None: as in the zip.
        folder: Where its folder goes; None: `models_folder()`. Created if need be.
        quota: As in `write_model`.
        limits: What the check may take.
        progress: Called with "wait", "unpack", "load" and "run" as each of these begins.

    Returns:
        The model's name.

    Raises:
        UnfitNameError: If the name is unfit or taken.
        ModelError: If the model is refused; says why.
    """
    folder = folder_of_models(folder)
    with _turn(progress), _hidden_folder(folder) as place:
        packed = _zip_of(data, place, folder / (name or "upload"), quota)
        with Check(packed, place / "model", limits, progress) as check:
            called = check.until("load")["name"]
            target = _free_place(called if name is None else name, folder)
            check.until("done")
        check_quota(target, _size(place / "model"), quota, without=place)
        with disk_errors(target, "written"):
            sync_folder(place / "model")
            move_into_place(place / "model", _free_place(target.name, folder))
    return target.name


@contextlib.contextmanager
def _turn(progress):
    """Wait until no other model is checked."""
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
    """Give a hidden folder of this process alone; it is gone at the end, or swept when this one is killed."""
    place = temporary_beside(folder / "upload")
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
    """Return the path of a zip, having written what was given as bytes."""
    if isinstance(data, Path):
        return data.resolve()
    check_quota(target, len(data), quota, without=place)
    with disk_errors(target, "written"):
        check_space(target, 3 * len(data))
        with (place / "model.zip").open("xb") as stream:
            stream.write(data)
    return (place / "model.zip").resolve()


def _free_place(name, folder):
    """Return where a model of that name may be put."""
    target = folder / name
    is_taken = os.path.lexists(target) or existing_folder(target) or hidden_model(target)
    try:
        return check_target(name, folder=folder)
    except ModelError as error:
        is_unfit = is_taken or not NAME.fullmatch(name)
        raise (UnfitNameError(error, name) if is_unfit else error) from None


def _size(folder):
    with disk_errors(folder, "read"):
        return sum(file.stat().st_size for file in folder.iterdir())
