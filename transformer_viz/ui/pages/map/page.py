"""The Map page: the steps of the model's computation, with its tensors for this text."""

import dataclasses
import threading
from collections.abc import Callable

import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz import store
from transformer_viz.analysis import output_names
from transformer_viz.language import Words
from transformer_viz.pictures.map import map_payload
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.chips import show_chips
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import words
from transformer_viz.ui.shell.lesson_strip import beside_lesson, show_room
from transformer_viz.ui.shell.lessons import open_lesson
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.reading import show_reading
from transformer_viz.ui.shell.run import ask_run

KEY = "map"
"""Session key of the view."""

MAX_BYTES = 16 * 2**20
"""Memory of cached payloads, in bytes."""


def show(model: store.ModelSummary, open_heads: Callable[[], None]) -> None:
    """Show the page for one model.

    Args:
        model: The model.
        open_heads: Opens the Attention page, on the layer that was chosen in the view.
    """
    show_room(open_lesson()[0])
    with beside_lesson("map"):
        show_map(model, open_heads)


def show_map(model: store.ModelSummary, open_heads: Callable[[], None]) -> None:
    """Show the text and the view; arguments as for `show`."""
    run = ask_run(model)
    if run is None:
        return
    _, request, trace, before = run
    show_reading(trace, model)
    show_chips(model, request, before, trace)
    try:
        payload = _payload(trace, words(), config_of(model), request, store.stamp(model.reference))
    except store.ModelError as error:
        st.error(error_text(error), icon=":material/folder_off:")
        return
    chosen = component("map", "map")(data=payload, key=KEY, on_opened_change=lambda: None)
    if chosen.opened:
        open_heads()


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda trace, words, config, *asked: (words.language, *asked),
    lock=threading.Lock(),
)
def _payload(trace, words: Words, config, request, stamp):
    """Return the payload of an answer; a rewritten model has another stamp."""
    computed = dataclasses.replace(config, residual=config.residual and request.changes.residual)
    return map_payload(trace, computed, parameters_of(request.model, output_names), words)
