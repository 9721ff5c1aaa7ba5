"""The choice of a model to fine-tune, and of its layers to train."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.language import joined
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import child_config, longest_text
from transformer_viz.text.tokenizer import tokenizer_of
from transformer_viz.training.runs.recipes import Recipe
from transformer_viz.ui.pages.train.material import Material
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.shelf import shown_models

MANY_UNKNOWN = 0.2
"""Share of unknown tokens above which the page warns."""

LONGEST = 1_000
"""Maximum number of tokens of a text that are looked up."""


def ask_parent(material: Material, recipe: Recipe) -> store.ModelSummary | None:
    """Show the choice among the models that can learn the task; return None for a new model."""
    try:
        models = shown_models()
    except store.ModelError:
        return None  # the Models page reports it
    fitting = {model.name: model for model in models if model.config and recipe.can_start_from(model.config)}
    if not fitting:
        return None
    name = st.selectbox(
        t("train.parent"),
        ["", *fitting],
        format_func=lambda name: name or t("train.parent.none"),
        key=f"parent-{material.recipe}",
        help=joined(t("gloss.fine_tuning"), t("train.parent.help")),
    )
    return fitting.get(name)


def show_fit(parent: store.ModelSummary, material: Material) -> None:
    """Show what the model inherits, and a warning if the tokenizer does not know the data."""
    st.caption(t("train.parent.keeps", model=escaped(parent.name)))
    texts = tuple(text for text, _ in material.examples)
    unknown = unknown_share(parent.reference, store.stamp(parent.reference), texts)
    if unknown > MANY_UNKNOWN:
        message = t("train.parent.unknown", model=escaped(parent.name), share=f"{unknown:.0%}")
        st.warning(message, icon=":material/translate:")


@st.cache_data(max_entries=16, show_spinner=False)
def unknown_share(model: str, stamp: str, texts: tuple[str, ...]) -> float:
    """Return the share of [UNK] among the tokens of some texts; `stamp` is that of the model."""
    config = store.read_config(model)
    rows = tokenizer_of(config, store.read_tokenizer(model)).encode_batch(texts, max_len=LONGEST)
    token_ids = np.concatenate([np.empty(0, np.int32), *rows])
    return float((token_ids == config.unk_id).mean()) if len(token_ids) else 0.0


def config_from(parent: TransformerConfig, material: Material, recipe: Recipe) -> TransformerConfig:
    """Return the config of a model fine-tuned from a parent on these data, with its vocabularies."""
    changes = {name: value for name, value in material.changes.items() if name != "tie_embeddings"}
    if "max_len" in changes:
        changes["max_len"] = longest_text(parent, changes["max_len"])
    return child_config(parent, classifies=recipe.classifies, **changes)


def ask_layers(config: TransformerConfig, place: str) -> int | None:
    """Show the choice of the layers to train; return how many of the last ones, None for all parameters."""
    count = sum(config.stacks.values())
    options = [None, *range(count, -1, -1)]
    if config.tie_embeddings:
        options.remove(0)

    def name(layers):
        if not layers:
            return t("train.trainable.all" if layers is None else "train.trainable.output")
        return t("train.trainable.last", count=layers)

    return st.selectbox(
        t("train.trainable"),
        options,
        format_func=name,
        key=f"trainable-{place}",
        help=t("train.trainable.help"),
    )
