"""Whether there is room for another run or upload, of all owners together and of its own."""

from collections.abc import Sequence
from typing import NamedTuple

from transformer_viz.store.quota import Quota
from transformer_viz.training.runs.errors import QuotaError

NAMED = 3
"""Largest items that an error names."""


class DiskUse(NamedTuple):
    """Disk use of one run or upload."""

    name: str
    owner: str
    size: int


def check_quota(quota: Quota, kept: Sequence[DiskUse], owner: str, *, what: str, more: int = 0) -> None:
    """Check that there is room for another item.

    Args:
        quota: `Quota`.
        kept: The existing items.
        owner: Owner of the new one; "": shared.
        what: Kind of items, for the message: "trainings" or "uploads".
        more: Bytes of the new one, as far as known.

    Raises:
        QuotaError: If there is no room.
    """
    own = [each for each in kept if each.owner == owner]
    for limit, counted in [(quota.total, kept)] + [(quota.owner, own)] * bool(owner):
        used = sum(each.size for each in counted)
        if used + more > limit or used == limit:
            largest = sorted(own, key=lambda each: -each.size)[:NAMED]  # the owner can delete only these
            raise QuotaError(what, used, limit, [each.name for each in largest], ever=more <= limit)
