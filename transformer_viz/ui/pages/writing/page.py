"""The Writing page: a text token by token, the distribution of each, and where the model looked."""

from collections.abc import Callable

import streamlit as st

from transformer_viz import store
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.pages.writing.steps import kept_steps
from transformer_viz.ui.pages.writing.views import OPENED, VIEWS, Shown
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.explained import show_explained
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.pipeline import show_pipeline
from transformer_viz.ui.shell.sentence import ask_text
from transformer_viz.ui.shell.shelf import home, offer_models, select_model, usable_models
from transformer_viz.ui.shell.title_row import show_title_row
from transformer_viz.ui.workbench.said import notes_of, reader_of
from transformer_viz.ui.workbench.written import request_of, room_behind


def show(model: store.ModelSummary, open_attention: Callable[[], None]) -> None:
    """Show the page for one model.

    Args:
        model: The model.
        open_attention: Goes to the Attention page.
    """
    if st.session_state.pop(OPENED, False):
        open_attention()
    names = {view: t(f"writing.view_{view}") for view in VIEWS}
    view = show_title_row(t("writing.title"), "writing_view", names, t("writing.view"))
    config = config_of(model)
    if not config.has_decoder:
        offer_writers(model)
        return
    show_pipeline(model, "decoder", "output")
    text = ask_text(model)
    room = room_behind(config, model.reference, text, answer)
    if room is None:
        return
    steps = kept_steps((model.name, text), config, room.most)
    trace = answer(request_of(model.reference, text, room, steps))
    if trace is None:
        return
    show_notes(model, trace)
    VIEWS[view](Shown(model, text, room, steps, trace))
    terms = ("temperature", "top_k", "top_p")
    show_explained("writing", r"p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}}", terms)


def show_notes(model: store.ModelSummary, trace: Trace) -> None:
    """Show what is to be known of a text that was read: where it was cut, and unknown words."""
    reader = reader_of(model, trace.text, lambda: usable_models(home().folder))
    for number, note in enumerate(notes_of(words(), model, trace, reader)):
        if "open" in note:
            st.button(note["press"], key=f"open-{number}", on_click=select_model, args=(note["open"],))
        else:
            st.caption(escaped(note["said"]))


def offer_writers(model: store.ModelSummary) -> None:
    """Say that a model does not write, with buttons that open those that do."""
    st.info(t("writing.none", model=escaped(model.name)), icon=":material/edit_note:")
    offer_models(t("writing.others"), lambda config: config.has_decoder)
