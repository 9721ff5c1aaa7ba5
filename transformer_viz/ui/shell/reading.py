"""Notes on truncated texts, unknown words, another script and another order."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.text.scripts import CJK, main_script
from transformer_viz.text.unicode import visible
from transformer_viz.ui.shell.card_facts import config_of, count_in, examples_of, part
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.shelf import kind_of, open_with_text, shown_models
from transformer_viz.values.trace import Trace

SCRIPTS = {CJK: "script.cjk", "LATIN": "script.latin"}
"""Script -> key of its name; others have none."""

MAX_WORDS = 60
"""Maximum number of reordered tokens shown as text."""


def show_order(trace: Trace) -> None:
    """Show the words of a reordered text as the model read them."""
    words = [visible(word) for word in trace.words if word]
    more = " …" if len(words) > MAX_WORDS else ""
    st.markdown(t("reading.order", text=escaped(" ".join(words[:MAX_WORDS])) + more))


def is_foreign(script: str, model: store.ModelSummary) -> bool:
    """Return whether a model was trained on texts in another script than this one of `main_script`."""
    own = main_script(examples_of(model.card)) if part(model.card, "data") else ""
    return bool(own and script and own != script)


def show_foreign(script: str, model: store.ModelSummary) -> None:
    """Say that a model does not read a script, with a button that opens one of its kind that does."""
    scripts = main_script(examples_of(model.card)), script
    own, other = (t(SCRIPTS.get(name, "script.other")) for name in scripts)
    others = (each for each in shown_models() if each.config and kind_of(each) == kind_of(model))
    able = [each for each in others if main_script(examples_of(each.card)) == script]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        said = t("reading.foreign", model=escaped(model.name), own=own, other=other)
        st.markdown(f":material/translate: :orange[{said}]", width="content")
        if able:
            reads = max(able, key=lambda each: each.size)
            label = t("positions.open", model=escaped(reads.name))
            st.button(label, key="open-reader", on_click=open_with_text, args=(reads,))


def show_reading(trace: Trace, model: store.ModelSummary) -> None:
    """Show how a text was truncated, which words are unknown to the model, and if it is in a script that the
    model has not learned from.
    """
    script = main_script([trace.text])
    if is_foreign(script, model):
        show_foreign(script, model)
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
