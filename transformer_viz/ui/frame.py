"""The frame of every page: title, sidebar, navigation."""

from pathlib import Path

import streamlit as st

from transformer_viz import store
from transformer_viz.ui import attention
from transformer_viz.ui.language import choose_language, plain, t
from transformer_viz.ui.server import in_order

ICON = Path(__file__).parent / "icon.svg"

COMPACT = "<style>.stMainBlockContainer { padding: 3.2rem 3rem 2rem }</style>"
"""The picture should stand on the first screen, not below it."""


def show() -> None:
    """Show the page that was chosen."""
    st.set_page_config(page_title="Transformer Viz", page_icon=ICON, layout="wide")
    st.html(COMPACT)
    with st.sidebar:
        st.subheader("Transformer Viz", anchor=False)
        controls, language = st.container(), st.container()
        with language:
            choose_language()
        with controls:
            model = choose_model()
    pages = [
        st.Page(lambda: attention.show(model), title=t("attention.nav"), url_path="attention", default=True)
    ]
    st.navigation(pages, position="hidden").run()


def choose_model() -> store.ModelSummary | None:
    """Show the choice of model, kept in the URL; None if there is nothing to choose from."""
    usable = {}
    for model in in_order(store.list_models()):
        if model.problem:
            st.warning(plain(model.problem), icon=":material/broken_image:")
        else:
            usable[model.name] = model
    if not usable:
        return None
    return usable[
        st.selectbox(t("model.label"), list(usable), key="model", bind="query-params", help=t("model.help"))
    ]
