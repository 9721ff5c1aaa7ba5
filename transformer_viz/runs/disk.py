"""Files and folders that are written whole or not at all, whatever happens meanwhile.

Everything is prepared under a hidden name that nobody else has, flushed, and put into its place by a rename.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import time
from pathlib import Path

import psutil

_HALF_WRITTEN = re.compile(r"\.tmp-(\d+)-[0-9a-f]{32}")

_HALF_REMOVED = re.compile(r"\.trash-[0-9a-z-]+")

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

ABANDONED = 24 * 60 * 60
"""Seconds after which a half-written place is removed even if a process has its writer's id."""

MARGIN = 60
"""A process that started this many seconds after a place last changed did not write it; clocks may be off."""


def check_folder(folder: Path) -> None:
    """Make a folder that is not there yet, and see whether this process may write to it.

    Raises:
        OSError: If it cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, and flush it; what cannot be finished is removed.

    Raises:
        OSError: If it is there, or the disk refuses.
    """
    handle = os.open(path, _FLAGS, 0o600)
    try:
        written, rest = 0, memoryview(data)
        while written < len(data):
            written += os.write(handle, rest[written:])
        os.fsync(handle)
    except BaseException:
        os.close(handle)
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file and flush it, so that a reader sees what was there before or all of this.

    Raises:
        OSError: If the disk refuses; what was there before is still there.
    """
    with new_file(path) as temporary:
        write_new(temporary, data)
    _sync_folder(path.parent)


@contextlib.contextmanager
def new_file(path: Path):
    """Give a hidden path to write to; put it in its place unless an error ends the block.

    Args:
        path: Where it is to stand; a file that is there is replaced.

    Raises:
        OSError: If the disk refuses; nothing is left then.
    """
    temporary = _hidden_beside(path, "tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # it is in its place, or was never made
            temporary.unlink()


@contextlib.contextmanager
def new_folder(target: Path):
    """Give an empty hidden folder to fill; put it in its place unless an error ends the block.

    Args:
        target: Where it is to stand; nothing may be there.

    Raises:
        OSError: If the disk refuses; nothing is left then.
    """
    temporary = _hidden_beside(target, "tmp")
    try:
        temporary.mkdir(mode=0o700)
        yield temporary
        os.rename(temporary, target)
        _sync_folder(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove(place: Path) -> None:
    """Remove a folder or a file in such a way that nobody finds half of it.

    Raises:
        OSError: If the disk refuses; it is still there then.
    """
    trash = _hidden_beside(place, "trash")
    os.rename(place, trash)
    _remove(trash)


def sweep_hidden(folder: Path) -> None:
    """Remove what writers left in a folder that were killed over it; raises nothing."""
    with contextlib.suppress(OSError):
        for place in list(folder.iterdir()):
            match = _HALF_WRITTEN.fullmatch(place.name)
            if _HALF_REMOVED.fullmatch(place.name) or (match and _is_abandoned(place, int(match[1]))):
                _remove(place)


def _sync_folder(folder):
    """Flush what a folder lists, where the system can: what was renamed is in its place in any case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_abandoned(place, pid):
    """Return whether the writer of a hidden place is gone; another process may have its id by now."""
    try:
        changed = place.lstat().st_mtime
        born = psutil.Process(pid).create_time()
    except psutil.AccessDenied:
        return time.time() - changed > ABANDONED
    except (OSError, OverflowError, ValueError, psutil.NoSuchProcess):
        return True
    return born > changed + MARGIN or time.time() - changed > ABANDONED


def _remove(place):
    with contextlib.suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink()


def _hidden_beside(path, kind):
    """Return a name beside a path that nobody else has and `sweep_hidden` knows."""
    return path.parent / f".{kind}-{os.getpid()}-{secrets.token_hex(16)}"
