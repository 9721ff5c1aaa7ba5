"""Notes on truncated texts, unknown words and another order."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.text.unicode import visible
from transformer_viz.ui.shell.card_facts import config_of, count_in
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.values.trace import Trace

MAX_WORDS = 60
"""Maximum number of reordered tokens shown as text."""


def show_order(trace: Trace) -> None:
    """Show the words of a reordered text as the model read them."""
    words = [visible(word) for word in trace.words if word]
    more = " …" if len(words) > MAX_WORDS else ""
    st.markdown(t("reading.order", text=escaped(" ".join(words[:MAX_WORDS])) + more))


def show_reading(trace: Trace, model: store.ModelSummary) -> None:
    """Show how a text was truncated and which words are unknown to the model."""
    if trace.num_dropped and trace.cut_at is not None:
        total = len(trace.tokens) + trace.num_dropped
        key = {0: "beginning", len(trace.tokens): "end"}.get(trace.cut_at, "middle")
        st.caption(
            t(
                f"reading.cut_{key}",
                read=len(trace.tokens),
                total=total,
                head=trace.cut_at,
                tail=len(trace.tokens) - trace.cut_at,
            )
        )
        if longest := count_in(model.card, "longest"):
            st.caption(t("reading.limit", most=f"{config_of(model).max_len:,}", longest=longest))
    if trace.unknown.all():
        st.caption(t("reading.all_unknown"))
        return
    unknown = list(dict.fromkeys(visible(trace.words[i]) for i in np.flatnonzero(trace.unknown)))
    if unknown:
        shown = t("list.comma").join(f"“{escaped(word)}”" for word in unknown[:8]) + (
            " …" if len(unknown) > 8 else ""
        )
        st.caption(t("reading.unknown", words=shown, count=trace.unknown.sum(), total=len(trace.tokens)))
