"""The note of the Positions page on a model without positions."""

import contextlib

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.positions.wording import joined
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.shelf import select_model, shown_models

OFFERED = 2
"""Maximum number of models with positions to offer instead."""


def show_lack(note: str) -> None:
    """Show a note that a model has no positions, with buttons that open models that have them."""
    others = []
    with contextlib.suppress(store.ModelError):  # the next page shows this error
        others = [
            model.name
            for model in shown_models()
            if not model.problem and config_of(model).positions != "none"
        ]
    more = [t("positions.lacks.others")] if others else []
    st.info(joined(note, *more), icon=":material/shuffle:")
    with st.container(horizontal=True, gap="small"):
        for name in others[:OFFERED]:
            label = t("positions.open", model=escaped(name))
            st.button(
                label, key=f"open-{name}", icon=":material/visibility:", on_click=select_model, args=(name,)
            )
