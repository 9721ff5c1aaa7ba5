"""The choice of an attention, a layer and a head by widgets, where a page computes with the chosen one."""

import numpy as np
import streamlit as st

from transformer_viz.trace import Trace
from transformer_viz.ui.address import from_address, to_address
from transformer_viz.ui.language import t


def choose(name, count) -> int:
    """Show the choice of a layer or a head, counted from 1 and kept in the URL."""
    numbers = list(range(1, count + 1))
    return st.segmented_control(
        t(f"{name}.label"), numbers, default=1, key=name, bind="query-params", required=True
    )


def choose_attention(trace: Trace) -> list:
    """Show the choice among a model's attentions, where it has more than one; return its layers."""
    kinds = {}
    for layer in trace.attentions():
        stack, _, kind, *_ = layer
        kinds.setdefault("cross" if kind == "cross" else stack, []).append(layer)
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    from_address("kind", kinds)
    chosen = st.segmented_control(
        t("kind.label"),
        list(kinds),
        default=None if "kind" in st.session_state else "cross",
        format_func=lambda kind: t(f"kind.{kind}"),
        key="kind",
        persist_state="session",
        required=True,
        help=t("kind.help"),
    )
    to_address("kind", chosen)
    return kinds[chosen]


def mask_of(trace: Trace, stack, kind) -> np.ndarray:
    """Return the model's own mask of one attention, the same for all heads: bool (1, query or 1, key)."""
    if kind == "cross":
        return trace.values.cross_attention_mask
    if stack == "decoder" and trace.encoder:
        return trace.values.target_attention_mask
    return trace.values.attention_mask
