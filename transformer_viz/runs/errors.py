"""What can go wrong with a training run."""

import contextlib
import errno
import os
from pathlib import Path

from transformer_viz.language import Phrase, Problem

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers where there is no room."""

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What it answers where this process may not write."""


class RunError(Problem):
    """A run is not there, or cannot do what was asked of it; says why and the way out."""


class UnwritableError(RunError):
    """A folder of runs, or that of one run, cannot be written.

    Attributes:
        place: The folder.
        cause: "full", "denied", "gone" or "other".
        reason: What the system says.
    """

    def __init__(self, place: Path, error: OSError):
        self.place = place
        self.cause = _cause(place, error)
        self.reason = error.strerror or type(error).__name__
        if self.cause == "gone":
            super().__init__("runs.gone", place=place)
        else:
            super().__init__("runs.unwritable", place=place, reason=self.reason)


class QuotaError(RunError):
    """There is no room for another run or upload.

    Attributes:
        what: "trainings" or "uploads".
        used: Bytes that are taken.
        limit: Bytes that may be.
        largest: Names of what of the same owner takes the most, the largest first.
        ever: Whether there could be room for it at all.
    """

    def __init__(self, what: str, used: int, limit: int, largest: list[str], *, ever: bool):
        self.what, self.used, self.limit, self.largest, self.ever = what, used, limit, largest, ever
        facts = {"taken": used / 1e6, "most": limit / 1e6}
        if ever and what == "trainings":
            facts["largest"] = ", ".join(largest) or Phrase("room.none")
        super().__init__(f"room.{what}" if ever else f"room.never_{what}", **facts)


class BusyError(RunError):
    """An owner has a run already that waits or is worked on.

    Attributes:
        run: Its id.
    """

    def __init__(self, run: str):
        self.run = run
        super().__init__("runs.busy", run=run)


def failure(problem: Problem) -> dict:
    """Return what the log of a run says of why it failed: its sentence, and what to put into words anew."""
    return {"message": str(problem), "problem": problem.to_json()}


@contextlib.contextmanager
def write_errors(place: Path):
    """Turn an error of the disk into a sentence about a folder."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(place, error) from None


def _cause(place, error):
    if error.errno in FULL:
        return "full"
    if error.errno in DENIED:
        return "denied"
    return "gone" if error.errno == errno.ENOENT and not os.path.exists(place) else "other"
