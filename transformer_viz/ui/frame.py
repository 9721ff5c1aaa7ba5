"""The frame of all pages: title, navigation, sidebar."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.attention import page as attention
from transformer_viz.ui.pages.masks import page as masks
from transformer_viz.ui.pages.models import page as models
from transformer_viz.ui.pages.positions import page as positions
from transformer_viz.ui.pages.teacher import page as teacher
from transformer_viz.ui.pages.train import page as train
from transformer_viz.ui.shell.address import follow_history, from_address, to_address
from transformer_viz.ui.shell.classroom import is_classroom, is_teacher, owner, record_visit, short_name
from transformer_viz.ui.shell.journal import timed
from transformer_viz.ui.shell.language import choose_language, escaped, t
from transformer_viz.ui.shell.login import admitted, show_logout
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.shelf import shown_models

ICON = Path(__file__).parent / "icon.svg"

COMPACT = """<style>
.stMainBlockContainer { padding: 4.2rem 3rem 2rem }
.stMainBlockContainer .stHeading h2 { padding: 0 0 0.75rem; font-size: 1.7rem }
.stMainBlockContainer .stHeading h3 { padding: 0.25rem 0; font-size: 1.25rem }
.stMainBlockContainer > .stVerticalBlock { gap: 0.75rem }
.st-key-hand-over { display: none }
</style>"""
"""Less white space, so that the picture fits the first screen; titles at one height; no room for the
component that synchronises the selection."""

OVERFLOW = """<style>
[data-testid=stTopNavSection] > span > * {{ display: none }}
[data-testid=stTopNavSection] > span::after {{ content: "{more}" }}
</style>"""
"""The button with the pages that do not fit into the navigation; Streamlit labels it in English only."""

INK = "<style>[data-testid=stBaseButton-primary] { color: #06222c }</style>"
"""In the dark theme, dark text on the primary button: white has too little contrast for a projector."""


def show() -> None:
    """Show the chosen page."""
    st.set_page_config(page_title="Transformer Viz", page_icon=ICON, layout="wide")
    st.html(COMPACT + (INK if st.context.theme.type == "dark" else ""))
    follow_history()
    with st.sidebar:
        st.subheader("Transformer Viz", anchor=False)
        controls, language = st.container(), st.container()
    with language:
        choose_language()
        show_logout()
    if not admitted():
        return
    record_visit()
    if is_classroom():
        language.caption(t("classroom.you", name=short_name(owner())), help=t("classroom.you.help"))

    def with_model(show_page):
        def show_model():
            try:
                with controls:
                    model = choose_model()
            except store.ModelError as error:
                st.error(error_text(error), icon=":material/folder_off:")
                return
            show_page(model)

        return show_model

    def show_train():
        train.show(open_model)

    def show_models():
        models.show(open_model)

    def open_model(name):
        st.session_state.model = name
        st.switch_page(attention_page, query_params={"model": name})

    attention_page = page_of(with_model(attention.show), "attention", "visibility", default=True)
    positions_page = page_of(with_model(positions.show), "positions", "format_list_numbered")
    masks_page = page_of(with_model(masks.show), "masks", "grid_off")
    train_page = page_of(show_train, "train", "school")
    models_page = page_of(show_models, "models", "inventory_2")
    pages = [attention_page, positions_page, masks_page, train_page, models_page]
    if is_teacher():
        pages.append(page_of(teacher.show, "teacher", "co_present"))
    st.html(OVERFLOW.format(more=t("nav.more")))
    page = st.navigation(pages, position="top")
    if page is not models_page:
        models.leave()
    with timed(page.url_path or "attention"):
        page.run()


def page_of(show_page: Callable[[], None], name: str, icon: str, **settings: Any) -> st.Page:
    """Return a page whose URL path is its name."""
    return st.Page(show_page, title=t(f"{name}.nav"), icon=f":material/{icon}:", url_path=name, **settings)


def choose_model() -> store.ModelSummary | None:
    """Show the choice of model, kept in the URL; return None if there is no usable model.

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
    names = list(usable)
    from_address("model", names, names[0])
    chosen = st.selectbox(t("model.label"), names, key="model", persist_state="session", help=t("model.help"))
    to_address("model", "" if chosen == names[0] else chosen)
    return usable[chosen]
