"""The claim file of a run, with which the process that trains it identifies itself."""

import json
from pathlib import Path

import psutil

from transformer_viz.training.runs.disk import write_whole


def write_claim(path: Path) -> None:
    """Claim a run for this process.

    Raises:
        OSError: If the file cannot be written.
    """
    process = psutil.Process()
    write_whole(path, json.dumps({"pid": process.pid, "created": process.create_time()}).encode())


def claimed_by(path: Path) -> tuple[int | None, object]:
    """Return id and start time of the process that claimed a run; (None, None) without a valid claim."""
    try:
        claim = json.loads(path.read_text(encoding="utf-8"))
        pid, created = claim["pid"], claim["created"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None, None
    return (pid, created) if type(pid) is int and 0 < pid < 2**31 else (None, None)


def is_at_work(path: Path) -> bool:
    """Return whether the claiming process still exists; the start time tells it from a later one with its
    id.
    """
    pid, created = claimed_by(path)
    try:
        process = psutil.Process(pid) if pid else None
        return bool(process) and (
            process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False
