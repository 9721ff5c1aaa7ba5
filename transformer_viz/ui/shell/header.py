"""The header of all pages: the model, the pages, the language."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.pictures.figures.theme import BACKGROUND, MUTED
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import choose_language, declare_language, escaped, t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.shelf import kind_of, purpose_of, shown_models

STYLE = """<style>
.stAppHeader {{ height: 3.5rem; min-height: 3.5rem; background: transparent }}
.stAppHeader.stAppHeader, .stAppHeader.stAppHeader * {{ pointer-events: none }}
.stAppHeader .stMainMenu, .stAppHeader .stMainMenu * {{ pointer-events: auto }}
.stAppHeader .stStatusWidget, .stAppHeader .stStatusWidget * {{ pointer-events: auto }}
.stAppHeader .stStatusWidget {{ position: fixed; left: 0.75rem; bottom: 0.5rem; padding: 0 0.6rem;
  border: 1px solid {line}; border-radius: 0.5rem; background: {background} }}
.stMainBlockContainer {{ padding: 0 1.5rem 2rem }}
.stMainBlockContainer input {{ text-overflow: ellipsis }}
.stMainBlockContainer > .stVerticalBlock {{ gap: 0.75rem }}
.stMainBlockContainer .stHeading h2 {{ padding: 0.5rem 0; font-size: 1.4rem }}
.stMainBlockContainer .stHeading h3 {{ padding: 0.25rem 0; font-size: 1.2rem }}
.stMainBlockContainer .stMarkdown h3 {{ padding: 0.25rem 0; font-size: 1.05rem }}
.stMainBlockContainer .stMarkdown h4 {{ padding: 0.25rem 0; font-size: 1rem }}
.stMarkdown [data-testid=stCaptionContainer] {{ color: {muted}; opacity: 1 }}
.stMainBlockContainer .stElementContainer:has(> .stHtml > :is(style, script):only-child) {{ display: none }}
[data-testid=stElementContainer].st-key-history {{ position: absolute }}
.st-key-pipeline {{ min-height: 1.5rem }}
[data-testid=stLayoutWrapper]:has(> .st-key-header) {{ position: sticky; top: 0; z-index: 90 }}
.st-key-header {{ width: calc(100% + 3rem); max-width: none; min-height: 3.5rem; margin: 0 -1.5rem;
  padding: 0.3rem 4.5rem 0 1.5rem; column-gap: 1.5rem; row-gap: 0; flex-wrap: nowrap;
  background: {background}; border-bottom: 1px solid {line} }}
[data-testid=stLayoutWrapper]:has(> .st-key-header-model) {{ flex: 0 1 19rem; min-width: 11rem }}
[data-testid=stLayoutWrapper]:has(> .st-key-pages) {{ flex: 1 1 0; min-width: 0 }}
.st-key-pages {{ justify-content: safe center; flex-wrap: nowrap; overflow-x: auto; scrollbar-width: none;
  gap: 1.4rem }}
.st-key-pages .stPageLink a {{ padding: 0.85rem 0; border-radius: 0; background: none; white-space: nowrap }}
.st-key-page-shown {{ box-shadow: inset 0 -3px {primary} }}
.st-key-page-shown .stPageLink a p {{ font-weight: 650 }}
@media (max-width: 1320px) {{ .st-key-pages a > span:has([data-testid=stIconMaterial]) {{ display: none }} }}
@media (max-width: 1100px) {{
  .st-key-header {{ column-gap: 1rem }}
  .st-key-pages {{ gap: 0.75rem }}
  [data-testid=stLayoutWrapper]:has(> .st-key-header-model) {{ flex-basis: 11rem }}
}}
@media (max-width: 860px) {{
  .st-key-pipeline {{ min-height: 0 }}
  .st-key-header {{ column-gap: 0.7rem; padding-right: 3.75rem }}
  .st-key-pages {{ gap: 0.5rem; padding-right: 1.5rem;
    mask-image: linear-gradient(90deg, #000 calc(100% - 1.5rem), transparent) }}
  .st-key-pages .stPageLink a p {{ font-size: 0.8rem }}
  [data-testid=stLayoutWrapper]:has(> .st-key-header-model) {{ flex-basis: 9rem; min-width: 9rem }}
}}
@media (max-width: 700px) {{
  .stMainBlockContainer {{ padding: 0 0.9rem 2rem }}
  .st-key-header {{ width: calc(100% + 1.8rem); margin: 0 -0.9rem; padding: 0.3rem 0.9rem 0;
    column-gap: 0.6rem; flex-wrap: wrap }}
  [data-testid=stLayoutWrapper]:has(> .st-key-header-model) {{ flex: 1 1 9rem; min-width: 9rem }}
  [data-testid=stLayoutWrapper]:has(> .st-key-header-language) {{ padding-right: 2.2rem }}
  [data-testid=stLayoutWrapper]:has(> .st-key-pages) {{ order: 1; flex: 1 1 100% }}
  .st-key-pages {{ justify-content: safe space-between }}
  .st-key-pages .stPageLink a {{ padding: 0.3rem 0 0.5rem }}
}}
</style>"""
"""One line above every page; Streamlit's own header, with its menu, lies transparent over its right end."""

LINE = {"light": "#e2e7ee", "dark": "#2a3344"}
"""Colour of the line below the header."""


class Header(NamedTuple):
    """The places in the header."""

    model: DeltaGenerator
    pages: DeltaGenerator
    visitor: DeltaGenerator


def show_header() -> Header:
    """Show the header with the choice of language, and return its other places."""
    name = "dark" if st.context.theme.type == "dark" else "light"
    primary = st.get_option(f"theme.{name}.primaryColor")
    st.html(STYLE.format(background=BACKGROUND[name], line=LINE[name], muted=MUTED[name], primary=primary))
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


def choose_model(place: DeltaGenerator) -> store.ModelSummary | None:
    """Show the choice of model in the header, kept in the URL; return None if there is no usable model.

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
    if wanted and wanted not in usable:
        st.toast(t("model.gone", name=escaped(wanted[:64])), icon=":material/search_off:")
    names = sorted(usable, key=lambda name: kind_of(usable[name]))  # those of a kind stay in order
    from_address("model", names, names[0])
    chosen = place.selectbox(
        t("model.label"),
        names,
        format_func=lambda name: f"{name} · {purpose_of(usable[name])}",
        key="model",
        persist_state="session",
        label_visibility="collapsed",
    )
    to_address("model", "" if chosen == names[0] else chosen)
    return usable[chosen]
