"""Changes of a folder of models that are seen whole or not at all, whatever happens meanwhile.

Everything is prepared in a hidden sibling, flushed, and put into its place by a rename.
"""

import contextlib
import errno
import os
import shutil
from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors, old_folder
from transformer_viz.store.hidden import discard, temporary_beside
from transformer_viz.store.quota import QuotaLike, check_quota


def write_files(target: Path, files: dict[str, bytes], quota: QuotaLike = None) -> None:
    """Write a folder of these files in the place of what is there; `disk_errors` says what went wrong."""
    with new_folder(target, sum(map(len, files.values())), quota) as temporary:
        for name, data in files.items():
            with (temporary / name).open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())


@contextlib.contextmanager
def new_folder(target: Path, size: int, quota: QuotaLike = None):
    """Give an empty hidden folder to fill; put it in the target's place unless an error ends the block.

    Args:
        target: Where the folder is to stand; a folder that stands there is replaced.
        size: Bytes of what is to be written; twice as many must be free.
        quota: As in `quota.quota_of`.

    Raises:
        ModelError: If there is no space, no more may be used, or the disk refuses.
    """
    temporary = temporary_beside(target)
    try:
        with disk_errors(target, "written"):
            check_quota(target, size, quota)
            check_space(target, 2 * size)
            temporary.mkdir()
            yield temporary
            sync_folder(temporary)
            swap(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_space(target: Path, needed: int) -> None:
    """Check that so many bytes are free where a model is to stand."""
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ModelError("store.space", place=target, needed=needed / 1e6, free=free / 1e6)


def swap(temporary: Path, target: Path) -> None:
    """Put the new folder in the place of the old one; on any failure, put the old one back."""
    old = old_folder(target)
    if target.exists():
        if old.exists():
            discard(old, target)
        os.rename(target, old)
    try:
        os.rename(temporary, target)
        sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            if target.exists():
                os.rename(target, temporary)
            if old.exists():
                os.rename(old, target)
        raise
    with contextlib.suppress(OSError):
        discard(old, target)


def move_into_place(folder: Path, target: Path) -> None:
    """Move a folder to a place where nothing stands; on any failure it is where it was."""
    os.rename(folder, target)
    try:
        sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rename(target, folder)
        raise


def sync_folder(folder: Path) -> None:
    """Flush what a folder lists."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what some network shares answer
            raise
    finally:
        os.close(handle)
