"""Files and folders that appear whole or not at all, and the removal of what killed writers left behind.

What is written or removed has a hidden name meanwhile, `.tmp-PID-RANDOM` beside its place, and is renamed.
Between two renames a folder that is replaced is `.old-NAME`; a deleted model is `.trash-NAME-TIME-RANDOM`.
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

from transformer_viz.store.places import folder_of_models

DAY = 24 * 60 * 60
"""Seconds for which a deleted model can be restored, and after which nobody is still writing anything."""

MARGIN = 60
"""A process that began this many seconds after a file last changed is not its writer; clocks may differ."""

_TEMPORARY = re.compile(r"\.(?:tmp-(?:.+-)?|trash-)(\d+)-(?:[0-9a-f]{16}){1,2}")
"""Hidden names with the id of their writer, those of earlier versions included."""

_TRASH = re.compile(r"\.trash-.+-(\d+)-[0-9a-f]{16}")


def temporary_in(folder: Path) -> Path:
    """Return a unique hidden path in a folder, which `sweep` removes once its writer is gone."""
    return folder / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"


def trash_beside(target: Path) -> Path:
    """Return a unique hidden path for a model deleted now, which `empty_trash` removes later."""
    return target.parent / f".trash-{target.name}-{int(time.time())}-{secrets.token_hex(8)}"


def old_folder(path: Path) -> Path:
    """Return the path to which a writer moves the old folder while it replaces it."""
    return path.parent / f".old-{path.name}"


def existing_folder(path: Path) -> Path | None:
    """Return a folder; if its writer was killed between two renames, the old one."""
    return next((place for place in (path, old_folder(path), path) if os.path.isdir(place)), None)


def write_flushed(file: Path, data: bytes) -> None:
    """Create a file and flush it.

    Raises:
        OSError: If it exists or cannot be written.
    """
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def write_whole(file: Path, data: bytes) -> None:
    """Write and flush a file, replacing an existing one.

    Raises:
        OSError: If it cannot be written; the old content remains.
    """
    with new_file(file) as temporary:
        write_flushed(temporary, data)
    with contextlib.suppress(OSError):  # it has been replaced in any case
        sync_folder(file.parent)


@contextlib.contextmanager
def new_file(file: Path) -> Iterator[Path]:
    """Yield a hidden path to write to, and rename it into place unless the block fails.

    Args:
        file: Final path; an existing file is replaced.

    Raises:
        OSError: If it cannot be written; nothing is left behind.
    """
    temporary = temporary_in(file.parent)
    try:
        yield temporary
        os.replace(temporary, file)
    finally:
        with contextlib.suppress(OSError):  # renamed, or never created
            temporary.unlink()


@contextlib.contextmanager
def new_folder(target: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Yield an empty hidden folder to fill, and rename it into place unless the block fails.

    Args:
        target: Final path; an existing folder is replaced.
        mode: Rights of the folder, reduced by those that the process withholds (umask).

    Raises:
        OSError: If it cannot be written; nothing is left behind, and the old folder remains.
    """
    temporary = temporary_in(target.parent)
    try:
        temporary.mkdir(mode=mode)
        yield temporary
        sync_folder(temporary)
        _replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def move(folder: Path, target: Path) -> None:
    """Rename a folder to a free path; on any failure, move it back.

    Raises:
        OSError: If it cannot be renamed.
    """
    os.rename(folder, target)
    try:
        sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rename(target, folder)
        raise


def _replace(temporary, target):
    """Replace the old folder by the new one; on any failure, restore the old one."""
    old = old_folder(target)
    if target.exists():
        if old.exists():
            discard(old)
        os.rename(target, old)
    try:
        move(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rename(old, target)
        raise
    with contextlib.suppress(OSError):
        discard(old)


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


def discard(place: Path) -> None:
    """Remove a file or folder, of which nobody sees a half: it is renamed first.

    Raises:
        OSError: If it cannot be renamed; it remains unchanged.
    """
    hidden = temporary_in(place.parent)
    os.rename(place, hidden)
    _remove(hidden)


def sweep(folder: Path) -> None:
    """Remove what killed writers left in a folder, as far as possible."""
    for place, match in _matching(folder, _TEMPORARY):
        if not _is_being_written(place, int(match[1])):
            _remove(place)


def empty_trash(folder: Path | None = None, *, older_than: float = DAY) -> None:
    """Permanently remove models deleted longer ago than `older_than`, as far as possible.

    Args:
        folder: Folder of models; None: `models_folder()`.
        older_than: Seconds; 0: all of them.
    """
    for place, match in _matching(folder_of_models(folder), _TRASH):
        if int(match[1]) <= time.time() - older_than:
            with contextlib.suppress(OSError):
                discard(place)


def began(pid: int) -> float | None:
    """Return when a process began, in seconds since 1970; 0 if that may not be asked; None: it is gone."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.AccessDenied:
        return 0.0
    except (psutil.Error, OverflowError, ValueError):
        return None


def _is_being_written(place, pid):
    """Return whether the writer of a temporary file may still exist; another process may have its id."""
    try:
        changed = place.lstat().st_mtime
    except OSError:
        return True
    since = began(pid)
    return since is not None and since <= changed + MARGIN and time.time() - changed <= DAY


def _matching(folder, pattern):
    """Return (path, match) of all names in a folder that match; none if it cannot be read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [(folder / name, match) for name in names if (match := pattern.fullmatch(name))]


def _remove(place):
    """Remove a file or folder, as far as possible."""
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):
        place.unlink()
