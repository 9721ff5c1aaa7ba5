"""The words that each head of a model without position encodings prefers, in every text."""

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.labels import shown_tokens
from transformer_viz.ui.shell.answers import word_preferences
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.workbench.mount import shown_trace

SHOWN = 10
"""Words with the most, and with the least weight."""


def show_preferences(model: store.ModelSummary) -> None:
    """Show a table of these words for each head, if they are the same in every text."""
    every = word_preferences(model.reference)
    if not every:
        return
    box = st.expander(
        t("vocabulary.title"), icon=":material/dictionary:", key="vocabulary", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        trace = shown_trace(model)
        if trace is None:
            return
        st.markdown(t("vocabulary.why", count=f"{len(every[0].words):,}"))
        tokens = dict(zip(trace.tokens, shown_tokens(trace.tokens), strict=True))
        asked = st.selectbox(
            t("vocabulary.query"),
            [None, *tokens],
            format_func=lambda token: t("vocabulary.any") if token is None else tokens[token],
            key=f"preferences-{model.reference}",
            width=340,
        )
        found = word_preferences(model.reference, asked) if asked else every
        if not found:
            st.caption(t("vocabulary.unknown", token=escaped(tokens[asked] if asked else "")))
            return
        table = {
            t("vocabulary.head"): [str(number + 1) for number in range(len(found))],
            t("vocabulary.most"): [_listed(head.words, head.ratios) for head in found],
            t("vocabulary.least"): [_listed(head.words[::-1], head.ratios[::-1]) for head in found],
        }
        st.table(table, border="horizontal", hide_index=True)


def _listed(words, ratios):
    """Return the first words with their weights, as Markdown."""
    pairs = zip(words[:SHOWN], ratios[:SHOWN], strict=True)
    return t("list.comma").join(f"{escaped(word)}\u00a0×{times(ratio)}" for word, ratio in pairs)


def times(ratio: float) -> str:
    """Return a ratio as text.

    >>> times(0.8912), times(116.53)
    ('0.89', '116.5')
    """
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.1f}"
