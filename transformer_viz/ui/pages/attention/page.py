"""The Attention page: what stands below the workbench."""

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.attention.preferences import show_preferences
from transformer_viz.ui.pages.attention.survey import show_survey
from transformer_viz.ui.shell.explained import show_explained
from transformer_viz.ui.shell.lesson_strip import beside_lesson
from transformer_viz.ui.shell.session import is_fragment_run
from transformer_viz.ui.workbench.mount import has_news


def show(model: store.ModelSummary) -> None:
    """Show the page for one model; what it opens is shown above, in a run of the whole script."""
    if is_fragment_run() and has_news():
        st.rerun()
    with beside_lesson("attention"):
        show_survey(model)
        show_preferences(model)
        show_explained(
            "attention", r"\mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right)"
        )
