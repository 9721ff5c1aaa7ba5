"""Which process works on a run: written down by that process, asked by everybody else."""

import json
from pathlib import Path

import psutil

from transformer_viz.runs.disk import write_whole


def write_claim(path: Path) -> None:
    """Write down that this process works on a run.

    Raises:
        OSError: If the disk refuses.
    """
    process = psutil.Process()
    write_whole(path, json.dumps({"pid": process.pid, "created": process.create_time()}).encode())


def claimed_by(path: Path) -> tuple[int | None, object]:
    """Return the id of the process that works on a run, and when it was started; or twice None."""
    try:
        claim = json.loads(path.read_text(encoding="utf-8"))
        pid, created = claim["pid"], claim["created"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None, None
    return (pid, created) if type(pid) is int and 0 < pid < 2**31 else (None, None)


def is_at_work(path: Path) -> bool:
    """Return whether that process is still there: another one may have its number by now."""
    pid, created = claimed_by(path)
    try:
        process = psutil.Process(pid) if pid else None
        return bool(process) and (
            process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False
