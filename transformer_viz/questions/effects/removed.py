"""The one head or cell that one run of a text lacks and another has."""

import dataclasses
from typing import NamedTuple

from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.interventions import attention_kinds
from transformer_viz.trace.request import Request

FIELDS = ("ablate", "mute")
"""Changes that take a head or a cell away, as its effect is estimated."""


class Removed(NamedTuple):
    """A head or a cell.

    Attributes:
        kind: Kind of its attention.
        place: Layer and head, of a cell also query and key, 0-based.
    """

    kind: str
    place: tuple[int, ...]


def removed(config: TransformerConfig, before: Request, after: Request) -> Removed | None:
    """Return the head that is ablated, or the cell that is muted, in one run and not in another.

    Args:
        config: Config of the model.
        before: The run that has it.
        after: The run that lacks it.

    Returns:
        None: the runs differ in something else, too, or in nothing.
    """
    others = {name: getattr(before.changes, name) for name in FIELDS}
    if dataclasses.replace(after, changes=dataclasses.replace(after.changes, **others)) != before:
        return None
    had, lacks = (
        {place for name in FIELDS for place in getattr(run.changes, name)} for run in (before, after)
    )
    gone = [*lacks - had]
    if len(gone) != 1 or had - lacks:
        return None
    place = gone[0]
    if isinstance(place[0], str):
        return Removed(place[0], place[1:])
    return Removed(attention_kinds(config)[0], place)
