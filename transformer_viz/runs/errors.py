"""What can go wrong with a training run, said in one sentence."""

import contextlib
import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers where there is no room."""

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What it answers where this process may not write."""


_MAKE_ROOM = {
    "trainings": "Delete one that is no longer needed, the largest first: {largest}.",
    "uploads": "Delete a training on a file that was uploaded; files that no training uses go after a day.",
}
"""What takes room -> how there is more of it."""


_TOO_LARGE = {
    "trainings": "What this one keeps is larger than all of them together may be. Choose a smaller model.",
    "uploads": "This is larger than all of them together may be. Use a part of it, or pack it with gzip.",
}
"""What takes room -> what to do where there can never be enough."""


class RunError(ValueError):
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
        super().__init__(
            f"{place} is not there any more."
            if self.cause == "gone"
            else f"{place} cannot be written: {self.reason}. Make space, or set TRANSFORMER_VIZ_RUNS to "
            "another folder."
        )


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
        super().__init__(
            f"There is no room: {what} take {used / 1e6:,.1f} MB of {limit / 1e6:,.1f} MB that they may. "
            + (
                _MAKE_ROOM[what].format(largest=", ".join(largest) or "none of yours")
                if ever
                else _TOO_LARGE[what]
            )
        )


class BusyError(RunError):
    """An owner has a run already that waits or is worked on.

    Attributes:
        run: Its id.
    """

    def __init__(self, run: str):
        self.run = run
        super().__init__(f"The run {run} is not over yet. Wait for its end, or stop it; then start another.")


@contextlib.contextmanager
def writing(place: Path):
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
