"""The position encoding table of a model: heatmap, curves, similarity of positions."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.positions import position_similarity, position_table, similarity_by_distance
from transformer_viz.pictures.figures import dimension_curves, position_heatmap, similarity_map
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.ui.pages.positions.labels import labels
from transformer_viz.ui.pages.positions.lack import show_lack
from transformer_viz.ui.pages.positions.relative import show_relative
from transformer_viz.ui.shell.address import choose_number, choose_one
from transformer_viz.ui.shell.card import kind_name
from transformer_viz.ui.shell.card_facts import config_of, examples_of
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.problems import error_text

ROWS = 64
"""Default number of positions shown."""

CURVES = 4
"""Default number of dimensions drawn as curves."""


def table_names(_config: TransformerConfig) -> tuple[str]:
    """Return the name of the parameters that are a learned table."""
    return ("position_embedding/embeddings",)


def own_table(model: store.ModelSummary) -> np.ndarray:
    """Return the encodings a model adds to its tokens, by position; sinusoidal ones if it adds none.

    Raises:
        ModelError: If the model cannot be read.
    """
    config = config_of(model)
    if not config.has_position_table:
        return position_table("sinusoidal", config.max_len, even(config.embedding_dim))
    if config.positions == "learned":
        [table] = parameters_of(model.reference, table_names).values()
    else:
        table = position_table(
            config.positions, config.max_len + config.padding_position, config.embedding_dim
        )
    return table[int(config.padding_position) :]


def _asks_for_bias(config):
    """Let the visitor choose between the table and the bias of a model that has both."""
    if not config.has_position_table:
        return True
    name, named = t("positions.added"), lambda to: t(f"positions.added.{to}")
    return choose_one("added", ["table", "bias"], name, format_func=named) == "bias"


def even(number: int) -> int:
    """Return the largest even number up to this one, at least 2."""
    return max(number - number % 2, 2)


def show_table(model: store.ModelSummary) -> None:
    """Show the table as a heatmap, as curves, or as the similarity of its positions."""
    config = config_of(model)
    if config.has_relative_bias and _asks_for_bias(config):
        show_relative(model)
        return
    st.subheader(t("positions.table.title"), anchor=False, help=t("positions.table.help"))
    try:
        table = own_table(model)
    except store.ModelError as error:
        st.error(t("model.unreadable", reason=error_text(error)), icon=":material/error:")
        return
    if config.positions == "rotary":
        st.info(t("positions.table.rotary"), icon=":material/360:")
    elif config.positions == "none":
        show_lack(t("positions.table.none"), config, examples_of(model.card))
    else:
        kind = kind_name(config.positions)
        st.markdown(t("positions.table.said", kind=kind, rows=f"{len(table):,}", width=table.shape[1]))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        how = choose_one(
            "picture",
            ["heatmap", "curves", "similarity"],
            t("positions.picture"),
            format_func=lambda picture: t(f"positions.picture.{picture}"),
        )
        longest = max(len(table), 2)
        rows = slide("rows", min(8, longest - 1), longest, min(ROWS, longest))
        dimensions = choose_dimensions(table) if how == "curves" else []
        measure = choose_measure() if how == "similarity" else ""
    table = table[:rows]
    if how == "heatmap":
        caption = t("positions.heatmap.said")
        figure = position_heatmap(table, labels=labels("position", "dimension", "value"), theme=theme())
    elif how == "curves":
        learned = config.positions == "learned"
        caption = t("positions.curves.said.learned" if learned else "positions.curves.said")
        names = labels("position", "dimension", "value")
        figure = dimension_curves(table, dimensions, labels=names, theme=theme())
    else:
        caption = t("positions.similarity.said")
        names = labels("position", "distance", "mean") | {"similarity": t(f"positions.measure.{measure}")}
        similarity = position_similarity(table, cosine=measure == "cosine")
        profile = similarity_by_distance(similarity)
        figure = similarity_map(similarity, profile, labels=names, theme=theme())
    st.caption(caption)
    alt = t(f"positions.{how}.alt")
    draw(figure, how, alt=alt, file_name=f"{model.name}-{how}")


def choose_dimensions(table: np.ndarray) -> list[int]:
    """Show the choice of dimensions to draw; by default some from fast to slow."""
    width = table.shape[1]
    spread = sorted({round(share * (width - 1) / CURVES / 2) // 2 * 2 for share in range(CURVES)})
    everything = st.toggle(t("positions.all"), key="all-dimensions", persist_state="session")
    chosen = st.multiselect(
        t("positions.dimensions"),
        list(range(width)),
        spread,
        key=f"dimensions-{width}",
        help=t("positions.dimensions.help"),
        placeholder=t("positions.dimensions.none"),
        select_all=False,  # `everything` is beside it
        disabled=everything,
        persist_state="session",
        width=300,
    )
    return list(range(width)) if everything else sorted(chosen) or spread


def choose_measure() -> str:
    """Show the choice of the similarity measure."""
    return choose_one(
        "measure",
        ["cosine", "dot"],
        t("positions.measure"),
        format_func=lambda measure: t(f"positions.measure.{measure}"),
        help=t("positions.measure.help"),
    )


def slide(key: str, low: int, high: int, default: int, *, step: int = 1) -> int:
    """Show a slider over whole numbers, kept in the URL."""
    named = t(f"positions.{key}")
    help_text = t(f"positions.{key}.help")
    return choose_number(key, low, high, named, default=default, step=step, help=help_text, width=232)
