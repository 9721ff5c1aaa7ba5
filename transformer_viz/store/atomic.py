"""Atomic changes of model folders: readers see the old state or the new one.

Everything is prepared in a hidden sibling folder, flushed, and renamed into place.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors, old_folder
from transformer_viz.store.hidden import discard, temporary_beside
from transformer_viz.store.quota import QuotaLike, check_quota


def write_files(target: Path, files: dict[str, bytes], quota: QuotaLike = None) -> None:
    """Write a folder of these files, replacing an existing one; `disk_errors` describes failures."""
    with new_folder(target, sum(map(len, files.values())), quota) as temporary:
        for name, data in files.items():
            with (temporary / name).open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())


def write_alone(file: Path, data: bytes) -> None:
    """Write one file into a folder that has others, replacing an existing one."""
    temporary = file.with_name(f".{file.name}-{os.getpid()}")
    with disk_errors(file, "written"):
        try:
            temporary.write_bytes(data)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(target: Path, size: int, quota: QuotaLike = None) -> Iterator[Path]:
    """Yield an empty hidden folder to fill, and rename it into place unless the block fails.

    Args:
        target: Final path; an existing folder is replaced.
        size: Bytes to be written; twice as many must be free.
        quota: As in `quota.quota_of`.

    Raises:
        ModelError: If the disk or the quota is full, or writing fails.
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
    """Check that so many bytes are free on the target's disk."""
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ModelError("store.space", place=target, needed=needed / 1e6, free=free / 1e6)


def swap(temporary: Path, target: Path) -> None:
    """Replace the old folder by the new one; on any failure, restore the old one."""
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
    """Rename a folder to a free path; on any failure, move it back."""
    os.rename(folder, target)
    try:
        sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rename(target, folder)
        raise


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries."""
    if os.name == "nt":  # folders cannot be opened on Windows
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # unsupported by some network shares
            raise
    finally:
        os.close(handle)
