"""Uploaded data files, each in a folder of its own beside the runs."""

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from transformer_viz.store.folders import discard, new_folder, sweep, write_flushed
from transformer_viz.store.names import name_from
from transformer_viz.store.quota import Quota, bytes_in
from transformer_viz.training.runs.errors import write_errors
from transformer_viz.training.runs.listing import LOCK_SECONDS, PRIVATE, all_job_bytes, runs_folder
from transformer_viz.training.runs.quota import DiskUse, check_quota

QUOTA = Quota(total=2 * 10**9, owner=50 * 10**6)
"""Default bytes for all uploads, and for those of one owner."""

UNUSED = 24 * 60 * 60
"""Seconds after which an upload that no run refers to is removed."""

LONGEST_NAME = 24
"""Characters kept of a file's name, and of its extension."""

FACTS = ".upload.json"
"""Name of the metadata file beside each upload."""


@dataclass(frozen=True)
class Upload:
    """A stored upload.

    Attributes:
        path: Its path, under a sanitised name.
        sha256: SHA-256 of its content in hexadecimal.
        size: Bytes of its content.
        owner: Its owner, as of a `TrainingJob`.
    """

    path: Path
    sha256: str
    size: int
    owner: str = ""


def keep_upload(
    data: bytes, name: str, *, owner: str = "", folder: str | Path | None = None, quota: Quota | None = None
) -> Upload:
    """Store and flush an upload; the same content of the same owner is stored once.

    Args:
        data: Its content.
        name: Original file name; only letters, digits, dots, "_" and "-" of it are kept.
        owner: Its owner; "": shared.
        folder: Folder of runs; None: `runs_folder()`.
        quota: Quota of all uploads, applied after unused ones have been removed; None: `QUOTA`.

    Raises:
        RunError: If it cannot be written, or there is no room; nothing is left behind.
    """
    home = uploads_folder(folder)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "owner": owner}
    with write_errors(home):
        home.mkdir(parents=True, exist_ok=True)
        with _lock(home):
            _sweep(home)
            if found := _existing_copy(home, facts):
                return found
            check_quota(quota or QUOTA, _disk_use(home), owner, what="uploads", more=len(data))
            target = home / secrets.token_hex(16)
            with new_folder(target, mode=PRIVATE) as made:
                write_flushed(made / _file_name(name), data)
                write_flushed(made / FACTS, json.dumps(facts).encode())
    return Upload(target / _file_name(name), **facts)


def uploads_bytes(owner: str | None = None, folder: str | Path | None = None) -> int:
    """Return the bytes of the uploads of an owner ("": shared ones); None: of all."""
    kept = _disk_use(uploads_folder(folder))
    return sum(each.size for each in kept if owner is None or each.owner == owner)


def sweep_uploads(folder: str | Path | None = None) -> None:
    """Remove uploads older than a day that no run refers to; raises nothing.

    Args:
        folder: Folder of runs; None: `runs_folder()`.
    """
    home = uploads_folder(folder)
    with contextlib.suppress(OSError):
        if home.is_dir():
            with _lock(home):
                _sweep(home)


def sweep_runs(folder: str | Path | None = None) -> None:
    """Remove temporary files of killed processes; raises nothing.

    Args:
        folder: Folder of runs; None: `runs_folder()`.
    """
    sweep(Path(folder or runs_folder()))
    sweep_uploads(folder)


def uploads_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of uploads in a folder of runs; None: `runs_folder()`."""
    return Path(folder or runs_folder()) / "uploads"


def _sweep(home):
    """Remove unused uploads and temporary files, with the lock held."""
    sweep(home)
    old = [place for place in _upload_folders(home) if time.time() - _last_used(place) > UNUSED]
    try:
        jobs = all_job_bytes(home.parent) if old else []
    except OSError:
        return  # unknown which of them a run refers to
    for place in old:
        if not any(place.name.encode() in job for job in jobs):
            with contextlib.suppress(OSError):
                discard(place)


def _last_used(place):
    """Return the time at which an upload was stored or last requested."""
    try:
        facts = place / FACTS
        return os.stat(facts if facts.exists() else place).st_mtime
    except OSError:
        return time.time()


def _existing_copy(home, facts):
    """Return an intact upload of the same content and owner; None if there is none."""
    for place in _upload_folders(home):
        if _facts(place) != facts:
            continue
        for path in place.iterdir():
            if path.name != FACTS and hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]:
                os.utime(place / FACTS)
                return Upload(path, **facts)
    return None


def _disk_use(home):
    return [
        DiskUse(place.name, _facts(place).get("owner", ""), bytes_in(place))
        for place in _upload_folders(home)
    ]


def _facts(place):
    """Return the metadata of an upload, {} if they are damaged."""
    try:
        facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _upload_folders(home):
    """Return the folders of all uploads, and files stored by earlier versions."""
    return [place for place in home.iterdir() if not place.name.startswith(".")] if home.is_dir() else []


def _lock(home):
    """Return the lock under which uploads are changed, so that a quota check stays valid."""
    return FileLock(home / ".lock", timeout=LOCK_SECONDS)


def _file_name(name):
    """Return a portable file name without path: "my-reviews.csv"."""
    stem, _, ending = re.split(r"[/\\]", name)[-1].lower().partition(".")
    stem = name_from(stem, LONGEST_NAME)
    ending = re.sub(r"[^a-z0-9.]+", "", ending)[:LONGEST_NAME].strip(".")
    return f"{stem or 'data'}.{ending or 'txt'}"
