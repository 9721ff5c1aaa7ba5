"""The note of the Positions page on a model without positions."""

import contextlib

import streamlit as st

from transformer_viz import store
from transformer_viz.language import joined
from transformer_viz.network.config import TransformerConfig
from transformer_viz.text.scripts import main_script
from transformer_viz.ui.shell.card_facts import config_of, examples_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.shelf import open_with_text, shown_models

OFFERED = 2
"""Maximum number of models with positions to offer instead."""


def show_lack(note: str, config: TransformerConfig, examples: list[str]) -> None:
    """Show a note that a model has no positions, with buttons that open the most similar ones that have them.

    Models of another architecture, or for texts in another script, are not offered.

    Args:
        note: The note.
        config: Of the model.
        examples: Examples of its texts.
    """
    others: list[store.ModelSummary] = []
    with contextlib.suppress(store.ModelError):  # the next page shows this error
        others = [
            model for model in shown_models() if not model.problem and stands_in(model, config, examples)
        ]
    others.sort(key=lambda model: distance(config_of(model), config))
    more = [t("positions.lacks.others")] if others else []
    st.info(joined(note, *more), icon=":material/shuffle:")
    with st.container(horizontal=True, gap="small"):
        for model in others[:OFFERED]:
            label = t("positions.open", model=escaped(model.name))
            key = f"open-{model.name}"
            st.button(label, key=key, icon=":material/visibility:", on_click=open_with_text, args=(model,))


def stands_in(model: store.ModelSummary, config: TransformerConfig, examples: list[str]) -> bool:
    """Return whether a model has positions, the architecture of a config, and texts like the examples."""
    own = config_of(model)
    is_alike = own.architecture == config.architecture and own.positions != "none"
    return is_alike and main_script(examples_of(model.card)) == main_script(examples)


def distance(one: TransformerConfig, other: TransformerConfig) -> list[bool]:
    """Return in what two models differ, the most important first."""
    names = ("labels", "num_layers", "num_heads")
    return [getattr(one, name) != getattr(other, name) for name in names]
