"""Atomic writes of files and folders: readers see the old content or the new one.

Everything is prepared under a unique hidden name, flushed, and renamed into place.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

_HALF_WRITTEN = re.compile(r"\.tmp-(\d+)-[0-9a-f]{32}")

_HALF_REMOVED = re.compile(r"\.trash-[0-9a-z-]+")

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

ABANDONED = 24 * 60 * 60
"""Seconds after which a temporary file is removed even if a process with its writer's id exists."""

MARGIN = 60
"""A process that started this many seconds after a file last changed is not its writer; clocks may differ."""


def check_folder(folder: Path) -> None:
    """Create a folder if necessary and check that this process may write to it.

    Raises:
        OSError: If it cannot be created or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def write_new(path: Path, data: bytes) -> None:
    """Create a file and flush it; an incomplete one is removed.

    Raises:
        OSError: If it exists or cannot be written.
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
    """Write and flush a file atomically.

    Raises:
        OSError: If it cannot be written; the old content remains.
    """
    with new_file(path) as temporary:
        write_new(temporary, data)
    _sync_folder(path.parent)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a hidden path to write to, and rename it into place unless the block fails.

    Args:
        path: Final path; an existing file is replaced.

    Raises:
        OSError: If it cannot be written; nothing is left behind.
    """
    temporary = _hidden_beside(path, "tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # renamed, or never created
            temporary.unlink()


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty hidden folder to fill, and rename it into place unless the block fails.

    Args:
        target: Final path, which must not exist.

    Raises:
        OSError: If it cannot be written; nothing is left behind.
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
    """Remove a file or folder atomically: it is renamed first.

    Raises:
        OSError: If it cannot be renamed; it remains unchanged.
    """
    trash = _hidden_beside(place, "trash")
    os.rename(place, trash)
    _remove(trash)


def sweep_hidden(folder: Path) -> None:
    """Remove temporary files of killed processes from a folder; raises nothing."""
    with contextlib.suppress(OSError):
        for place in list(folder.iterdir()):
            match = _HALF_WRITTEN.fullmatch(place.name)
            if _HALF_REMOVED.fullmatch(place.name) or (match and _is_abandoned(place, int(match[1]))):
                _remove(place)


def _sync_folder(folder):
    """Flush a folder's entries where the system can; the rename itself is done in any case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_abandoned(place, pid):
    """Return whether the writer of a temporary file is gone; another process may have its id."""
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
    """Return a unique hidden sibling path that `sweep_hidden` recognises."""
    return path.parent / f".{kind}-{os.getpid()}-{secrets.token_hex(16)}"
