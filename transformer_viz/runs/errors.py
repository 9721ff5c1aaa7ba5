"""What can go wrong with a training run, said in one sentence."""

import contextlib
import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers where there is no room."""

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What it answers where this process may not write."""


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
