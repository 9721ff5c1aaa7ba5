"""The head on which pages open, and widgets that choose a kind of attention, a layer and a head."""

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.shell.address import choose_one
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.trace import Trace

HEADS_OF = "heads-of"
"""Session key: the model in which a head is chosen."""

SURVEY_HEAD = "survey-head"
"""Session key: the head whose survey is shown."""


def head_roles_of(model: str) -> HeadRoles | None:
    """Return what the heads of a model usually do; None if unknown, or the model is deleted or replaced."""
    try:
        return store.read_head_roles(model)
    except store.ModelError:
        return None


def opening_of(model: str, kind: str) -> tuple[int, int]:
    """Return the layer and the head, 0-based, that the views of a kind of attention show first."""
    roles = head_roles_of(model)
    return (0, 0) if roles is None else roles.kinds[kind].opening()


def forget_other_model(model: str) -> None:
    """Forget which head of another model was chosen, unless the visitor goes back to it."""
    if st.session_state.setdefault(HEADS_OF, model) != model and not is_history_navigation():
        for name in ("kind", "layer", "head", SURVEY_HEAD):
            st.session_state.pop(name, None)
            st.query_params.pop(name, None)
    st.session_state[HEADS_OF] = model


def choose_head(model: str, kind: str, layers: int, heads: int) -> tuple[int, int]:
    """Show the choice of a layer and of a head, 1-based and kept in the URL; return both.

    Args:
        model: Reference of the model.
        kind: Kind of attention.
        layers: Number of its layers.
        heads: Number of heads in each.
    """
    layer, head = opening_of(model, kind)
    return (
        choose_one("layer", range(1, layers + 1), t("layer.label"), default=layer + 1),
        choose_one("head", range(1, heads + 1), t("head.label"), default=head + 1),
    )


def choose_attention(trace: Trace) -> str:
    """Show the choice among a model's kinds of attention if it has several; return the chosen one."""
    kinds = list(trace.kinds())
    if len(kinds) == 1:
        return kinds[0]
    return choose_one(
        "kind",
        kinds,
        t("kind.label"),
        format_func=lambda kind: t(f"kind.{kind}"),
        default="cross",
        help=t("kind.help"),
    )


def sync_with_views(*, model: str, layer: int, head: int, kind: str | None = None) -> None:
    """Synchronise the selection with the views.

    Args:
        model: Name of the model, as its traces have it.
        layer: As `choose_head` returned it.
        head: As `choose_head` returned it.
        kind: As `choose_attention` returned it; None: not chosen on this page.
    """
    chosen = {"model": model, "layer": layer - 1, "head": head - 1} | ({"kind": kind} if kind else {})
    with st.container(key="hand-over"):
        component("choice")(data=chosen, key="chosen-elsewhere", on_chosen_change=apply_view_selection)


def apply_view_selection() -> None:
    """Set the widgets to the selection in the views."""
    chosen = st.session_state["chosen-elsewhere"].chosen
    for name in ("layer", "head"):
        st.session_state[name] = chosen[name] + 1
    st.session_state["kind"] = chosen["kind"]
