"""The head on which pages open, and the choice of a kind of attention, a layer and a head."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path

import streamlit as st
from cachetools import LRUCache, cached
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures.lens import thumbnails_of
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import words
from transformer_viz.ui.shell.projector import is_projected
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

HEADS_OF = "heads-of"
"""Session key: the model in which a head is chosen."""

MAX_BYTES = 16 * 2**20
"""Memory of cached payloads, in bytes; a larger one is computed in every rerun."""

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


def forget_other_model(model: str) -> None:
    """Forget which head of another model was chosen, unless the visitor goes back to it."""
    if st.session_state.setdefault(HEADS_OF, model) != model and not is_history_navigation():
        for name in ("kind", "layer", "head", SURVEY_HEAD):
            st.session_state.pop(name, None)
            st.query_params.pop(name, None)
    st.session_state[HEADS_OF] = model


def beside_heads() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the place of the heads, and the one beside them."""
    with st.container(key="with-heads", horizontal=True):
        return st.container(key="all-heads"), st.container(key="beside-heads")


def choose_head(
    trace: Trace,
    request: Request,
    *kinds: str,
    opening: Callable[[str], tuple[int, int] | None] = lambda kind: None,
) -> tuple[str, int, int]:
    """Show the heads as thumbnails, of which one is chosen and kept in the URL.

    Args:
        trace: What the heads are shown of.
        request: Its request.
        *kinds: Kinds of attention to offer; none: all that the trace has.
        opening: Kind -> layer and head that are shown first, 0-based; None: as `opening_of` says.

    Returns:
        Kind of attention, and layer and head, 1-based.
    """
    model, offered = request.model, kinds or tuple(trace.kinds())
    forget_other_model(model)
    kind = offered[-1]
    if len(offered) > 1:
        from_address("kind", offered, kind)
        to_address("kind", "" if st.session_state.kind == kind else st.session_state.kind)
        kind = st.session_state.kind
    layers = trace.kinds()[kind].layers
    place, usual = {}, opening_of(model, kind)
    begin = opening(kind) or usual
    for name, count, first in zip(
        ("layer", "head"), (len(layers), len(layers[0].weights)), begin, strict=True
    ):
        from_address(name, range(1, count + 1), first + 1)
        place[name] = st.session_state[name]
        is_left_out = begin == usual and place[name] == first + 1  # what other pages show first, too
        to_address(name, "" if is_left_out else str(place[name]))
    layer, head = place["layer"], place["head"]
    chosen = {"kind": kind, "layer": layer - 1, "head": head - 1, "projected": is_projected()}
    payload = _thumbnails(trace, words(), offered, chosen, request, stamp_of(model))
    component("choice", "lens")(data=payload, key="heads", on_chosen_change=apply_choice)
    return kind, layer, head


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda trace, words, offered, chosen, *asked: (words.language, offered, *chosen.items(), *asked),
    lock=threading.Lock(),
)
def _thumbnails(trace, words: Words, offered, chosen, request, stamp):
    """Return the payload of the thumbnails of an answer; a rewritten model has another stamp."""
    return thumbnails_of(trace, words, offered, head_roles_of(request.model), chosen)


def apply_choice() -> None:
    """Choose the head that was chosen in the browser."""
    chosen = st.session_state["heads"].chosen
    for name in ("layer", "head"):
        st.session_state[name] = chosen[name] + 1
    st.session_state["kind"] = chosen["kind"]
