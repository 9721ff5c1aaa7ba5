"""How much of the disk runs and uploads may take, together and each owner's."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from transformer_viz.runs.errors import QuotaError

NAMED = 3
"""Of what takes the most room, so much is named."""


class Quota(NamedTuple):
    """Bytes that may be kept.

    Attributes:
        total: Of all owners together.
        owner: Of one owner; what belongs to everybody counts as nobody's.
    """

    total: int
    owner: int


class DiskUse(NamedTuple):
    """Something that takes room."""

    name: str
    owner: str
    size: int


def check_quota(quota, kept, owner, *, what, more=0) -> None:
    """See whether there is room for more.

    Args:
        quota: `Quota`.
        kept: Everything there is, each a `DiskUse`.
        owner: Whom the new one belongs to; "": everybody.
        what: What is kept, for the sentence: "trainings" or "uploads".
        more: Bytes of the new one, as far as they are known.

    Raises:
        QuotaError: If there is no room.
    """
    own = [each for each in kept if each.owner == owner]
    for limit, counted in [(quota.total, kept)] + [(quota.owner, own)] * bool(owner):
        used = sum(each.size for each in counted)
        if used + more > limit or used == limit:
            largest = sorted(own, key=lambda each: -each.size)[:NAMED]  # nobody else's can be deleted
            raise QuotaError(what, used, limit, [each.name for each in largest], ever=more <= limit)


def bytes_in(place: Path) -> int:
    """Return how many bytes a file has, or all files in a folder; what cannot be read counts nothing."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names] or [place]
    size = 0
    for file in files:
        with contextlib.suppress(OSError):
            size += os.lstat(file).st_size
    return size
