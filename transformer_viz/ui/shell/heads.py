"""Widgets that choose a kind of attention, a layer and a head."""

import streamlit as st

from transformer_viz.ui.shell.address import choose_one
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t
from transformer_viz.values.trace import Trace


def choose(name: str, count: int) -> int:
    """Show the choice of a layer or a head, 1-based and kept in the URL."""
    return choose_one(name, range(1, count + 1), t(f"{name}.label"))


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


def sync_with_views(*, layer: int, head: int, kind: str | None = None) -> None:
    """Synchronise the selection with the views.

    Args:
        layer: As `choose` returned it.
        head: As `choose` returned it.
        kind: As `choose_attention` returned it; None: not chosen on this page.
    """
    chosen = {"layer": layer - 1, "head": head - 1} | ({"kind": kind} if kind else {})
    with st.container(key="hand-over"):
        component("choice")(data=chosen, key="chosen-elsewhere", on_chosen_change=apply_view_selection)


def apply_view_selection() -> None:
    """Set the widgets to the selection in the views."""
    chosen = st.session_state["chosen-elsewhere"].chosen
    for name in ("layer", "head"):
        st.session_state[name] = chosen[name] + 1
    st.session_state["kind"] = chosen["kind"]
