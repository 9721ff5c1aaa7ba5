"""Hidden temporary and deleted folders beside models, and their removal."""

import contextlib
import os
import re
import secrets
import shutil
import time
from pathlib import Path

from transformer_viz.store.names import is_name
from transformer_viz.store.places import folder_of_models

DAY = 24 * 60 * 60
"""Minimum seconds for which a deleted model can be restored."""

_TEMPORARY = re.compile(r"\.tmp-(.+)-(\d+)-[0-9a-f]{16}")
_TRASH = re.compile(r"\.trash-(.+)-(\d+)-[0-9a-f]{16}")


def temporary_beside(target: Path) -> Path:
    """Return a unique hidden sibling path, which `sweep` removes if its writer dies."""
    return target.parent / f".tmp-{target.name}-{os.getpid()}-{secrets.token_hex(8)}"


def trash_beside(target: Path) -> Path:
    """Return a unique hidden sibling path for a model deleted now, which `empty_trash` removes later."""
    return target.parent / f".trash-{target.name}-{int(time.time())}-{secrets.token_hex(8)}"


def discard(folder: Path, target: Path) -> None:
    """Remove a hidden folder; if that is interrupted, `sweep` removes the rest."""
    trash = temporary_beside(target)
    os.rename(folder, trash)
    shutil.rmtree(trash, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove temporary folders of killed writers, as far as possible."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            match = _TEMPORARY.fullmatch(name)
            if match and is_name(match[1]) and not _is_alive(int(match[2]), folder / name):
                shutil.rmtree(folder / name, ignore_errors=True)


def empty_trash(folder: Path | None = None, *, older_than: float = DAY) -> None:
    """Permanently remove models deleted longer ago than `older_than`, as far as possible.

    Args:
        folder: Folder of models; None: `models_folder()`.
        older_than: Seconds; 0: all of them.
    """
    folder, names = folder_of_models(folder), []
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        match = _TRASH.fullmatch(name)
        if match and is_name(match[1]) and int(match[2]) <= time.time() - older_than:
            with contextlib.suppress(OSError):
                discard(folder / name, folder / match[1])


def _is_alive(pid, place):
    if os.name == "nt":  # os.kill ends the process on Windows
        return time.time() - os.path.getmtime(place) < DAY
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
