"""Data files that visitors upload: each in a folder of its own beside the runs, whole and unmistakable."""

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

from transformer_viz.runs.disk import new_folder, remove, sweep_hidden, write_new
from transformer_viz.runs.errors import write_errors
from transformer_viz.runs.listing import LOCK_SECONDS, all_job_bytes, runs_folder
from transformer_viz.runs.quota import DiskUse, Quota, bytes_in, check_quota

QUOTA = Quota(total=2 * 10**9, owner=50 * 10**6)
"""Bytes that all uploads may take where nothing else is said, and those of one owner."""

UNUSED = 24 * 60 * 60
"""Seconds after which an upload goes that no run refers to."""

LONGEST_NAME = 24
"""Letters of a file's name that are kept, and of its ending."""

FACTS = ".upload.json"
"""Beside each file, what is known of it."""


@dataclass(frozen=True)
class Upload:
    """A file that was uploaded and kept.

    Attributes:
        path: Where it is, under a name made of its own.
        sha256: Of its content, in hexadecimal.
        size: Bytes of its content.
        owner: Whom it belongs to, as of a `TrainingJob`.
    """

    path: Path
    sha256: str
    size: int
    owner: str = ""


def keep_upload(data: bytes, name: str, *, owner="", folder=None, quota: Quota | None = None) -> Upload:
    """Write an upload beside the runs, and flush it; what an owner uploads once more is kept once.

    Args:
        data: Its content.
        name: What the visitor calls the file; nothing of it but letters, digits and dots is kept.
        owner: Whom it belongs to; "": everybody.
        folder: Folder of runs; None: `runs_folder()`.
        quota: Room that uploads may take; what no run uses any more makes way first. None: `QUOTA`.

    Raises:
        RunError: If it cannot be written, or there is no room; nothing is left then.
    """
    home = uploads_folder(folder)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "owner": owner}
    with write_errors(home):
        home.mkdir(parents=True, exist_ok=True)
        with _alone(home):
            _sweep(home)
            if found := _same(home, facts):
                return found
            check_quota(quota or QUOTA, _kept(home), owner, what="uploads", more=len(data))
            target = home / secrets.token_hex(16)
            with new_folder(target) as temporary:
                write_new(temporary / _file_name(name), data)
                write_new(temporary / FACTS, json.dumps(facts).encode())
    return Upload(target / _file_name(name), **facts)


def uploads_bytes(owner: str | None = None, folder=None) -> int:
    """Return how many bytes uploads take: those of an owner ("": of everybody), None: all."""
    kept = _kept(uploads_folder(folder))
    return sum(each.size for each in kept if owner is None or each.owner == owner)


def sweep_uploads(folder=None) -> None:
    """Remove uploads that no run refers to and that are older than a day; raises nothing.

    Args:
        folder: Folder of runs; None: `runs_folder()`.
    """
    home = uploads_folder(folder)
    with contextlib.suppress(OSError):
        if home.is_dir():
            with _alone(home):
                _sweep(home)


def sweep_runs(folder=None) -> None:
    """Remove what processes that were killed left half written or half deleted; raises nothing.

    Args:
        folder: Folder of runs; None: `runs_folder()`.
    """
    sweep_hidden(Path(folder or runs_folder()))
    sweep_uploads(folder)


def uploads_folder(folder=None) -> Path:
    """Return the folder of uploads in a folder of runs; None: `runs_folder()`."""
    return Path(folder or runs_folder()) / "uploads"


def _sweep(home):
    """Remove what is left over, with the lock held."""
    sweep_hidden(home)
    old = [place for place in _places(home) if time.time() - _used(place) > UNUSED]
    try:
        asked = all_job_bytes(home.parent) if old else []
    except OSError:
        return  # nobody knows which of them a run refers to
    for place in old:
        if not any(place.name.encode() in job for job in asked):
            with contextlib.suppress(OSError):
                remove(place)


def _used(place):
    """Return when an upload was kept or asked for, the last time."""
    try:
        facts = place / FACTS
        return os.stat(facts if facts.exists() else place).st_mtime
    except OSError:
        return time.time()


def _same(home, facts):
    """Return the upload that holds the same for the same owner, if there is one that is as it was."""
    for place in _places(home):
        if _facts(place) != facts:
            continue
        for path in place.iterdir():
            if path.name != FACTS and hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]:
                os.utime(place / FACTS)
                return Upload(path, **facts)
    return None


def _kept(home):
    return [DiskUse(place.name, _facts(place).get("owner", ""), bytes_in(place)) for place in _places(home)]


def _facts(place):
    """Return what is known of an upload, {} if that is damaged."""
    try:
        facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _places(home):
    """Return the folders of all uploads, and what else is there: earlier versions kept files."""
    return [place for place in home.iterdir() if not place.name.startswith(".")] if home.is_dir() else []


def _alone(home):
    """Return what keeps others from changing the uploads meanwhile, who would see the same room."""
    return FileLock(home / ".lock", timeout=LOCK_SECONDS)


def _file_name(name):
    """Return a name that any system can have and that is no path: "my-reviews.csv"."""
    stem, _, ending = re.split(r"[/\\]", name)[-1].lower().partition(".")
    stem = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:LONGEST_NAME].strip("-")
    ending = re.sub(r"[^a-z0-9.]+", "", ending)[:LONGEST_NAME].strip(".")
    return f"{stem or 'data'}.{ending or 'txt'}"
