"""The relative position bias of each head, by the distance from query to key."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.positions import relative_buckets
from transformer_viz.pictures.figures import distance_curves, distance_heatmap
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.ui.pages.positions.labels import labels
from transformer_viz.ui.shell.address import choose_number, choose_one
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.problems import error_text

DISTANCE = 20
"""Default for the largest distance shown."""


def show_relative(model: store.ModelSummary) -> None:
    """Show the position bias of each head, as curves or as a heatmap."""
    config = config_of(model)
    st.subheader(t("positions.relative.title"), anchor=False, help=t("positions.relative.help"))
    try:
        parameters = parameters_of(model.reference, bias_names)
    except store.ModelError as error:
        st.error(t("model.unreadable", reason=error_text(error)), icon=":material/error:")
        return
    alone = "" if config.has_position_table else t("positions.relative.alone")
    st.markdown(alone + t("positions.relative.said"))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        how = choose_one(
            "picture",
            ["curves", "heatmap"],
            t("positions.picture"),
            format_func=lambda picture: t(f"positions.picture.{picture}"),
        )
        stack = next(iter(config.stacks))
        if len(config.stacks) > 1:
            named = t("positions.relative.stack")
            stack = choose_one("stack", [*config.stacks], named, format_func=lambda name: t(f"kind.{name}"))
        named, reach = t("positions.relative.distance"), config.relative_reach
        longest = choose_number("distance", 2, reach, named, default=min(DISTANCE, reach), width=232)
    causal = stack == "decoder" or config.causal
    distances = np.arange(-longest, 1 if causal else longest + 1)
    buckets = relative_buckets(config.relative_buckets, reach, causal=causal)
    bias = parameters[bias_name(stack)][buckets[distances + reach]]
    st.caption(t("positions.relative.causal" if causal else "positions.relative.both"))
    names = labels("offset", "bias") | {"head": t("positions.word.head", number="{number}")}
    make = {"curves": distance_curves, "heatmap": distance_heatmap}[how]
    figure = make(bias, distances, labels=names, theme=theme())
    draw(figure, "relative", alt=t("positions.relative.alt"), file_name=f"{model.name}-positions-{stack}")


def bias_names(config: TransformerConfig) -> list[str]:
    """Return the names of the tables of a model with relative positions."""
    return [bias_name(stack) for stack in config.stacks]


def bias_name(stack: str) -> str:
    """Return the name of the table of a stack."""
    return f"{stack}_relative_bias/embeddings"
