"""The changes in force as buttons that take them back, where no view has them as chips."""

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.changes import chips_of
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.changing import act
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.values.request import Changes, Request
from transformer_viz.values.trace import Trace


def show_chips(model: store.ModelSummary, request: Request, before: Request | None, trace: Trace) -> None:
    """Show a button for each change in force, and one for all of them.

    Args:
        model: The model.
        request: What is shown, with the changes.
        before: What it is compared with; None: nothing.
        trace: The answer to the request.
    """
    chips = chips_of(words(), config_of(model), request, before, trace)
    if not chips:
        return
    with st.container(key="chips", horizontal=True, gap="small"):
        for number, chip in enumerate(chips):
            text = f"{escaped(chip['text'])} ×"
            st.button(text, key=f"chip-{number}", on_click=act, args=(chip["act"],))


def show_way_back(before: Request | None, changes: Changes) -> None:
    """Show buttons that take the changes back and end the comparison, where there is no picture with them."""
    with st.container(horizontal=True):
        if before or changes.given:
            st.button(t("change.undo_all"), on_click=act, args=({"do": "undo_all"},))
        if before:
            st.button(t("change.end"), on_click=act, args=({"do": "end"},))
