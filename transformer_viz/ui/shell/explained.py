"""What a page shows, in a few sentences and a formula, below its picture."""

import streamlit as st

from transformer_viz.ui.shell.language import t


def show_explained(page: str, formula: str) -> None:
    """Show what a page is about once a visitor asks: until then the browser has nothing of it to lay out.

    Args:
        page: Name of the page in the keys of its sentences.
        formula: In LaTeX.
    """
    label, key = t("attention.what"), f"explained-{page}"
    box = st.expander(label, icon=":material/help:", key=key, on_change="rerun")
    if box.open:
        box.markdown(t(f"{page}.explained"))
        box.latex(formula)
