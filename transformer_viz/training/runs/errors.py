"""Errors of training runs."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from transformer_viz.language import Phrase, Problem

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk or quota."""

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Error numbers of missing permission."""


class RunError(Problem):
    """A run is missing, or a request to it failed; the message gives the reason and the remedy."""


class UnwritableError(RunError):
    """A folder of runs, or of one run, cannot be written.

    Attributes:
        place: The folder.
        cause: "full", "denied", "gone" or "other".
        reason: Message of the system.
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
        used: Bytes in use.
        limit: Bytes allowed.
        largest: Names of the owner's largest items, the largest first.
        ever: Whether it would fit if everything else were deleted.
    """

    def __init__(self, what: str, used: int, limit: int, largest: list[str], *, ever: bool):
        self.what, self.used, self.limit, self.largest, self.ever = what, used, limit, largest, ever
        facts: dict[str, object] = {"taken": used / 1e6, "most": limit / 1e6}
        if ever and what == "trainings":
            facts["largest"] = ", ".join(largest) or Phrase("room.none")
        super().__init__(f"room.{what}" if ever else f"room.never_{what}", **facts)


class BusyError(RunError):
    """The owner already has a queued or active run.

    Attributes:
        run: Its id.
    """

    def __init__(self, run: str):
        self.run = run
        super().__init__("runs.busy", run=run)


def failure(problem: Problem) -> dict:
    """Return the fields of a "failed" event: the message in English, and its code and facts to translate."""
    return {"message": str(problem), "problem": problem.to_json()}


@contextlib.contextmanager
def write_errors(place: Path) -> Iterator[None]:
    """Raise an `OSError` of the block as `UnwritableError` about a folder."""
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
