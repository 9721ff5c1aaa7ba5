"""Which words speak for each label over many rows of a file, on the Evaluation page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.questions.effects.word_effects import (
    FEWEST_TEXTS,
    TextEffects,
    words_for_labels,
)
from transformer_viz.questions.text_requests import WordEffectsRequest
from transformer_viz.ui.shell.answers import word_effects
from transformer_viz.ui.shell.language import escaped, t

DONE = "evaluation-words"
"""Session key: (model, file) -> effects in each text."""

FIRST = 100
"""Texts whose words are left out at the first press."""

SHOWN = 10
"""Most words of a label."""

IN_A_ROW = 4
"""Most labels beside each other."""

WIDTH = 320
"""Width of the words of a label in pixels."""


def show_words(model: store.ModelSummary, labels: Sequence[str], texts: tuple[str, ...], file: tuple) -> str:
    """Show which words speak for each label, once a visitor has asked for it; return the pressed word.

    Args:
        model: The model.
        labels: Its labels.
        texts: Texts of the rows.
        file: Identifies them.

    Returns:
        The word; "" for none.
    """
    key = (model.reference, store.stamp(model.reference), *file)
    done: dict[tuple, list[TextEffects]] = st.session_state.setdefault(DONE, {})
    with st.expander(t("evaluation.words"), icon=":material/sort_by_alpha:", expanded=key in done):
        st.caption(t("evaluation.words.why", fewest=FEWEST_TEXTS))
        found = done.get(key, [])
        total = min(len(texts), WordEffectsRequest.most)
        more = min(FIRST if not found else WordEffectsRequest.most, total) - len(found)
        word = _show_found(found, labels, len(texts)) if found else ""
        start = t("evaluation.words.start", count=more)
        if more > 0 and st.button(start, key="evaluation-words-start", icon=":material/play_arrow:"):
            drawn = np.random.default_rng(0).permutation(len(texts))[len(found) : len(found) + more]
            added = word_effects(WordEffectsRequest(model.reference, tuple(texts[row] for row in drawn)))
            if added is not None:
                st.session_state[DONE] = {key: [*found, *added]}
                st.rerun()
    return word


def _show_found(found, labels, total) -> str:
    """Show a table of words for each label; return the pressed word."""
    st.caption(t("evaluation.words.measured", count=f"{len(found):,}", total=f"{total:,}"))
    frame, pressed = words_for_labels(found, labels), ""
    if frame.empty:
        st.caption(t("evaluation.words.none"))
        return ""
    longest = float(np.max(frame["effect"].to_numpy(dtype=float)))
    names = {name: t(f"evaluation.column.{name}") for name in ("word", "effect", "texts")}
    for first in range(0, len(labels), IN_A_ROW):
        some = labels[first : first + IN_A_ROW]
        for column, label in zip(st.columns(len(some), width=WIDTH * len(some)), some, strict=True):
            words: Any = frame.loc[frame["label"] == label].head(SHOWN)
            column.markdown(f"**{escaped(label)}**")
            if words.empty:
                column.caption(t("evaluation.words.none"))
                continue
            chosen = column.dataframe(
                words.rename(columns=names)[[*names.values()]],
                hide_index=True,
                on_select="rerun",
                selection_mode="single-row",
                key=f"evaluation-words-{label}-{len(found)}",
                column_config={
                    names["effect"]: st.column_config.ProgressColumn(
                        format="%.2f", min_value=0, max_value=longest, color="primary"
                    ),
                },
            )
            if picked := chosen["selection"]["rows"]:
                pressed = words["word"].tolist()[picked[0]]
    return pressed
