"""What can go wrong with a training run, said in one sentence."""

import errno
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers where there is no room."""

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What it answers where this process may not write."""


class RunError(ValueError):
    """A run is not there, or cannot do what was asked of it; says why and the way out."""


class UnwritableError(RunError):
    """A folder of runs cannot be written.

    Attributes:
        place: The folder.
        cause: "full", "denied" or "other".
        reason: What the system says.
    """

    def __init__(self, place: Path, error: OSError):
        self.place = place
        self.cause = "full" if error.errno in FULL else "denied" if error.errno in DENIED else "other"
        self.reason = error.strerror or type(error).__name__
        super().__init__(
            f"{place} cannot be written: {self.reason}. Make space, or set TRANSFORMER_VIZ_RUNS to another "
            "folder."
        )
