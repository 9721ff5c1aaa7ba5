"""What a page shows, in a few sentences and a formula, below its picture."""

from collections.abc import Sequence

import streamlit as st

from transformer_viz.ui.shell.language import t


def show_explained(page: str, formula: str, terms: Sequence[str] = ()) -> None:
    """Show what a page is about once a visitor asks: until then the browser has nothing of it to lay out.

    Args:
        page: Name of the page in the keys of its sentences.
        formula: In LaTeX.
        terms: Terms of the glossary that are defined between the two.
    """
    label, key = t("attention.what"), f"explained-{page}"
    box = st.expander(label, icon=":material/help:", key=key, on_change="rerun")
    if box.open:
        colon = t("list.colon")
        defined = (f"- **{t(f'term.{term}')}**{colon}{t(f'gloss.{term}')}" for term in terms)
        box.markdown("\n".join([t(f"{page}.explained"), "", *defined]))
        box.latex(formula)
