"""What the Positions page says of a model without positions."""

import contextlib

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.positions.wording import joined
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.shelf import choose_model, shown_models

OFFERED = 2
"""Models with positions that are offered where the chosen one has none."""


def show_lack(said: str) -> None:
    """Say what a model without positions lacks, and offer to open models that have them."""
    others = []
    with contextlib.suppress(store.ModelError):  # the next page says that they cannot be listed
        others = [
            model.name
            for model in shown_models()
            if not model.problem and config_of(model).positions != "none"
        ]
    more = [t("positions.lacks.others")] if others else []
    st.info(joined(said, *more), icon=":material/shuffle:")
    with st.container(horizontal=True, gap="small"):
        for name in others[:OFFERED]:
            label = t("positions.open", model=escaped(name))
            st.button(
                label, key=f"open-{name}", icon=":material/visibility:", on_click=choose_model, args=(name,)
            )
