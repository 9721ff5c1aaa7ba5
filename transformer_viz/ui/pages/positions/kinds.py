"""Sinusoidal encodings as rotations, and a comparison of all kinds of encoding."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.network.positions import (
    one_hot_positions,
    position_table,
    relative_buckets,
    shift_error,
    sinusoidal_rates,
)
from transformer_viz.pictures.figures import kinds_grid, rotation_circles
from transformer_viz.ui.pages.positions.labels import labels
from transformer_viz.ui.pages.positions.table import even, own_table, slide
from transformer_viz.ui.shell.card import kind_name
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.language import t, words
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.shelf import shown_models
from transformer_viz.ui.workbench.positions import difference_text

KINDS = ("sinusoidal", "sinusoidal-halves", "one-hot", "learned", "rotary", "relative", "none")
"""Kinds of encoding in the order in which they are shown."""

BUCKETS, REACH = 16, 128
"""Rows of the table of relative positions for each direction, and the distance from which on all have the
last one, as in T5 (Raffel et al., 2020, section 2.1).
"""

START_FROM = (0, 7, 20)
"""Positions from which a shift is drawn."""


def show_rotation(model: store.ModelSummary) -> None:
    """Show that a shift by k rotates each (sine, cosine) pair by the same angle at every position."""
    config = config_of(model)
    halves, width = config.positions == "sinusoidal-halves", even(config.d_model)
    st.subheader(t("positions.rotation.title"), anchor=False, help=t("positions.rotation.help"))
    st.markdown(t("positions.rotation.said"))
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        k = slide("k", 1, 64, 5)
        error = difference_text(words(), shift_error(k, config.max_len, width, halves=halves))
        meaning = t("positions.error.help", rows=f"{config.max_len:,}", width=width)
        st.markdown(t("positions.error", value=error), help=meaning, width="content")
    pairs = sorted({share * width // 16 for share in range(4)})
    names = labels("position") | {"pair": t("positions.word.pair", pair="{pair}", degrees="{degrees}")}
    rates = sinusoidal_rates(width, halves=halves)
    figure = rotation_circles(rates, pairs, START_FROM, k, labels=names, theme=theme())
    draw(figure, "rotation", alt=t("positions.rotation.alt"), file_name=f"{model.name}-rotation")
    st.latex(
        r"\begin{pmatrix}\sin\omega(p+k)\\ \cos\omega(p+k)\end{pmatrix} ="
        r"\begin{pmatrix}\cos\omega k & \sin\omega k\\ -\sin\omega k & \cos\omega k\end{pmatrix}"
        r"\begin{pmatrix}\sin\omega p\\ \cos\omega p\end{pmatrix}"
    )


def tables_of_kinds(width: int, length: int) -> dict[str, np.ndarray]:
    """Return kind of encoding -> its numbers: float (position, dimension); NaN where a position has no row.

    Rotary positions are shown as the cosine of the angle by which each pair of numbers of query and key is
    turned, relative ones as the row of the table of biases that is added to a score, by query and key: below
    0 for keys after the query.

    Args:
        width: Number of dimensions, even; of relative positions, number of keys.
        length: Number of positions.
    """
    tables = {
        kind: position_table(kind, length, width) for kind in ("none", "sinusoidal", "sinusoidal-halves")
    }
    tables["one-hot"] = one_hot_positions(np.arange(length), width)
    tables["one-hot"][width:] = np.nan
    angles = np.arange(length)[:, None] * sinusoidal_rates(width)
    tables["rotary"] = np.repeat(np.cos(angles), 2, axis=1).astype(np.float32)
    distances = np.arange(width) - np.arange(length)[:, None]
    rows = relative_buckets(BUCKETS, REACH, causal=True)[REACH - np.minimum(np.abs(distances), REACH)]
    tables["relative"] = (np.sign(-distances) * rows).astype(np.float32)
    return tables


def _learned_model():
    """Return the first model of the shelf with learned positions; None: there is none."""
    return next((each for each in shown_models() if each.config and each.config.positions == "learned"), None)


def show_kinds(model: store.ModelSummary) -> None:
    """Show all kinds of encoding side by side, for a chosen width and length."""
    config = config_of(model)
    st.subheader(t("positions.kinds.title"), anchor=False, help=t("positions.kinds.help"))
    st.markdown(t("positions.kinds.said"))
    st.caption(t("positions.kinds.scores"))
    with st.container(horizontal=True, gap="medium"):
        width = slide("width", 4, 256, 64, step=2)
        length = slide("length", 8, 256, 64)
    tables = tables_of_kinds(width, length)
    learned = model if config.positions == "learned" else _learned_model()
    if learned:
        try:
            tables["learned"] = own_table(learned)[:length]
        except store.ModelError as error:
            st.error(t("model.unreadable", reason=error_text(error)), icon=":material/error:")
    order = [kind for kind in KINDS if kind in tables]
    names = {kind: kind_name(kind) for kind in order}
    if learned:
        names["learned"] = t("positions.kinds.of", kind=kind_name("learned"), model=learned.name)
    waves = {
        "sinusoidal": np.repeat(2 * np.pi / sinusoidal_rates(width), 2),
        "sinusoidal-halves": np.tile(2 * np.pi / sinusoidal_rates(width, halves=True), 2),
        "rotary": np.repeat(2 * np.pi / sinusoidal_rates(width), 2),
    }
    longest = waves["sinusoidal-halves"].max()
    st.caption(t("positions.kinds.waves", shortest=f"{2 * np.pi:.1f}", longest=f"{longest:,.0f}"))
    figure = kinds_grid(
        {names[kind]: tables[kind] for kind in order},
        {names[kind]: wave for kind, wave in waves.items()},
        labels=labels("position", "dimension", "value", "wavelength"),
        columns=3,
        theme=theme(),
    )
    draw(figure, "kinds", alt=t("positions.kinds.alt"), file_name=f"{model.name}-kinds")
    if length > width:
        st.caption(t("positions.kinds.one_hot_full", width=width))
