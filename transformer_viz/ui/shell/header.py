"""The header of all pages: the model, the pages, the language."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.store.names import SUCCESSORS
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import (
    choose_language,
    declare_language,
    escaped,
    read_language,
    t,
    words,
)
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.server import GOODBYE, first_model, has_window
from transformer_viz.ui.shell.shelf import kind_of, purpose_of, shown_models
from transformer_viz.ui.shell.streamlit_texts import translate_streamlit
from transformer_viz.ui.shell.style import show_style

UNCHOSEN = "unchosen-model"
"""Session key of the model that the app has opened by itself."""


class Header(NamedTuple):
    """The places in the header."""

    model: DeltaGenerator
    pages: DeltaGenerator
    visitor: DeltaGenerator


def show_header() -> Header:
    """Show the header with the choice of language, and return its other places."""
    read_language()
    show_style()
    with st.container(key="header", horizontal=True, vertical_alignment="center"):
        model = st.container(key="header-model")
        pages = st.container(key="pages", horizontal=True, vertical_alignment="center")
        with st.container(
            key="header-language", horizontal=True, width="content", vertical_alignment="center"
        ):
            choose_language()
            visitor = st.container(horizontal=True, width="content", vertical_alignment="center")
    declare_language()
    component("history")(key="history")
    translate_streamlit()
    if has_window():
        component("goodbye")(data=GOODBYE, key="goodbye")
    return Header(model, pages, visitor)


def show_pages(pages: Sequence[st.Page], shown: st.Page) -> None:
    """Show a link to each page, the shown one marked."""
    for page in pages:
        if page is shown:
            st.container(key="page-shown", width="content").page_link(page)
        else:
            st.page_link(page)


def show_brand(place: DeltaGenerator) -> None:
    """Show the name of the app, on pages of no one model."""
    place.markdown("**Transformer Viz**")


def choose_model(
    place: DeltaGenerator, is_able: Callable[[TransformerConfig], bool] = lambda config: True
) -> store.ModelSummary | None:
    """Show the choice of model in the header, kept in the URL; return None if there is no usable model.

    Args:
        place: In the header.
        is_able: Returns whether the page can do something with a model. One with which the app has opened
            gives way to the first that it can; one that a visitor has chosen does not.

    Raises:
        ModelError: If a folder of models cannot be listed.
    """
    usable = {}
    for model in shown_models():
        if model.error:
            st.warning(error_text(model.error), icon=":material/broken_image:")
        else:
            usable[model.name] = model
    if not usable:
        return None
    wanted = st.session_state.get("model") or st.query_params.get("model")
    if wanted and wanted not in usable and SUCCESSORS.get(wanted) in usable:
        wanted = st.session_state.model = SUCCESSORS[wanted]
    if wanted and wanted not in usable:
        st.toast(t("model.gone", name=escaped(wanted[:64])), icon=":material/search_off:")
    names = sorted(usable, key=lambda name: kind_of(usable[name]))  # those of a kind stay in order
    if not wanted:
        wanted = st.session_state[UNCHOSEN] = _opened(names)
    able = [name for name in names if is_able(config_of(usable[name]))]
    if wanted == st.session_state.get(UNCHOSEN) and able and wanted not in able:
        st.session_state.model = st.session_state[UNCHOSEN] = first_model(able, words().language)
    from_address("model", names, _opened(names))
    chosen = place.selectbox(
        t("model.label"),
        names,
        format_func=lambda name: f"{name} · {purpose_of(usable[name])}",
        key="model",
        persist_state="session",
        label_visibility="collapsed",
    )
    is_opened = chosen == names[0] == first_model(names, words().language)
    to_address("model", "" if is_opened else chosen)
    return usable[chosen]


def _opened(names):
    """Return the model that an address without one opens: with a text, the first, which it may leave out."""
    return names[0] if st.query_params.get("text") else first_model(names, words().language)
