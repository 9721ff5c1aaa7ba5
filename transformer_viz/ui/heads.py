"""The choice of an attention, a layer and a head by widgets, where a page computes with the chosen one."""

import streamlit as st

from transformer_viz.trace import Trace
from transformer_viz.ui.address import choose_one
from transformer_viz.ui.language import t


def choose(name, count) -> int:
    """Show the choice of a layer or a head, counted from 1 and kept in the URL."""
    numbers = list(range(1, count + 1))
    return st.segmented_control(
        t(f"{name}.label"), numbers, default=1, key=name, bind="query-params", required=True
    )


def choose_attention(trace: Trace) -> str:
    """Show the choice among a model's kinds of attention, where it has more than one; return it."""
    kinds = list(trace.kinds())
    if len(kinds) == 1:
        return kinds[0]
    return choose_one(
        "kind",
        kinds,
        t("kind.label"),
        say=lambda kind: t(f"kind.{kind}"),
        default="cross",
        help=t("kind.help"),
    )
