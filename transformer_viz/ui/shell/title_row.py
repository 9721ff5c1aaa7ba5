"""The row above a page of several views: its title, the choice of a view, and that of the size."""

from collections.abc import Mapping

import streamlit as st

from transformer_viz.ui.shell.address import choose_one
from transformer_viz.ui.shell.projector import choose_projector


def show_title_row(title: str, key: str, names: Mapping[str, str], label: str) -> str:
    """Show the title of a page with the choice of its views and of their size; return the chosen view.

    Args:
        title: Title of the page.
        key: Name of the choice in the URL and in the session.
        names: View -> its name in the visitor's language; the first is the default.
        label: Name of the choice for screen readers.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header(title, anchor=False, width="content")
        chosen = choose_one(
            key, list(names), label, format_func=lambda view: names[view], label_visibility="collapsed"
        )
        choose_projector()
    return chosen
