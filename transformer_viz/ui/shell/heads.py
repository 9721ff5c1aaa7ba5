"""What the heads of a model usually do, and the head on which pages open."""

import functools
from pathlib import Path

from transformer_viz import store
from transformer_viz.questions.roles.result import HeadRoles

SURVEY_HEAD = "survey-head"
"""Session key: the head whose survey is shown."""


def head_roles_of(model: str | Path) -> HeadRoles | None:
    """Return what the heads of a model usually do; None if unknown, or the model is deleted or replaced."""
    try:
        return _head_roles(model, store.stamp(model))
    except store.ModelError:
        return None


@functools.lru_cache(16)
def _head_roles(model: str | Path, _stamp: str) -> HeadRoles | None:
    """Return the roles; a rewritten model has another stamp."""
    return store.read_head_roles(model)


def stamp_of(model: str) -> str:
    """Return the stamp of a model; "" if it was deleted in the meantime, whose answers are still shown."""
    try:
        return store.stamp(model)
    except store.ModelError:
        return ""


def opening_of(model: str, kind: str) -> tuple[int, int]:
    """Return the layer and the head, 0-based, that the views of a kind of attention show first."""
    roles = head_roles_of(model)
    return (0, 0) if roles is None else roles.opening(kind)
