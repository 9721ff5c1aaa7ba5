"""The views of the Masks page: steps of the computation, change of the weights, two ways to mask."""

import math
from typing import Any

import numpy as np
import streamlit as st

from transformer_viz.analysis import (
    added_mask_weights,
    block_means,
    blocked_rows,
    masked_scores,
    multiplied_mask_weights,
)
from transformer_viz.pictures.views import MAX_CELLS, Scale, block_names, panel, percent, weight_limit
from transformer_viz.pictures.views.panel import MAX_LARGE, Written
from transformer_viz.ui.pages.masks.choice import show_brushes, take_strokes
from transformer_viz.ui.pages.masks.sides import Head
from transformer_viz.ui.shell.charts import theme
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.panels import Panel, show_panels

MIN_DIFFERENCE = 0.01
"""Least end of the colour scale for differences of weights: smaller differences are drawn pale."""

MASK_SCALE = Scale(1.6, drawn=False)
"""Colour scale of a mask, which gives allowed cells (1) a medium colour."""

WRITTEN: dict[str, Written] = {"score": "numbers", "weight": "shares", "difference": "shares"}
"""Values -> what stands in their cells; nothing in those of a mask."""

MASK_FORMULA = "M ∈ {0, 1}"

LEAST, LEAST_OF_MANY = 215, 240
"""Least width of a matrix, and of one of many tokens, in pixels."""


def show_steps(chosen: Head, other: Head) -> None:
    """Show scores, mask, masked scores and weights of the chosen mask, in the order of the computation."""
    show_heading("steps", len(chosen.rows), len(chosen.columns))
    scores = np.asarray(chosen.scores)
    scale = Scale(scale_limit(scores), signed=True)
    weights = np.where(chosen.mask, chosen.weights, np.nan)
    masked, seen = masked_scores(scores, chosen.mask), weights_scale(weights, visible=chosen.mask)
    is_painted = chosen.name == "painted"
    formula = "c tanh(QK^T / (c √d_k))" if chosen.is_capped else "QK^T / √d_k"
    bias = " + B" if chosen.has_bias else ""
    panels = [
        panel_of("scores", f"s = {formula}{bias}", matrix_of(chosen, scores, "score", scale)),
        painted_panel(chosen) if is_painted else mask_panel(chosen),
        panel_of("masked_scores", "s + ln M   (ln 0 = −∞)", matrix_of(chosen, masked, "score", scale)),
        panel_of("weights", "softmax(s)", matrix_of(chosen, weights, "weight", seen)),
    ]
    show_panels(panels, *width(chosen), on_paint=take_strokes if is_painted else None)
    if is_painted:
        show_brushes()


def mask_panel(chosen: Head) -> Panel:
    """Return the mask as a matrix."""
    allowed = np.where(chosen.mask, 1, np.nan)
    return panel_of("mask", MASK_FORMULA, matrix_of(chosen, allowed, "mask", MASK_SCALE))


def painted_panel(chosen: Head) -> Panel:
    """Return the mask as a matrix whose cells can be painted."""
    says = [f"{cell_text()}\n{t(f'masks.{may}')}" for may in ("may", "may_not")]
    values = np.where(chosen.mask, 1, np.nan)
    drawn = panel(values, (chosen.rows, chosen.columns), says=says, scale=MASK_SCALE, theme=theme())
    found = panel_of("mask", MASK_FORMULA, drawn | axis_titles())
    return found._replace(alt=t("masks.paint_alt"), applied=st.session_state.painted["applied"])


def show_change(chosen: Head, other: Head) -> None:
    """Show the weights before the mask and with it, and their difference."""
    show_heading("change", len(chosen.rows), len(chosen.columns))
    sides = [np.where(side.mask, side.weights, np.nan) for side in (other, chosen)]
    scale = weights_scale(*sides, visible=np.stack([chosen.mask, other.mask]))
    difference = chosen.weights - other.weights
    difference = np.where(chosen.mask | other.mask, difference, np.nan)
    panels = [
        panel_of(
            name,
            "softmax(s)",
            matrix_of(side, weights, "weight", scale),
            mask=t(f"masks.name_{side.name}"),
        )
        for name, side, weights in zip(("other", "with"), (other, chosen), sides, strict=True)
    ]
    limit = Scale(max(scale_limit(difference), MIN_DIFFERENCE), signed=True)
    panels.append(panel_of("difference", "W_2 − W_1", matrix_of(chosen, difference, "difference", limit)))
    show_panels(panels, *width(chosen, columns=3))


def show_ways(chosen: Head, other: Head) -> None:
    """Show additive and multiplicative masking of the head's scores, with row sums."""
    show_heading("ways", len(chosen.rows), len(chosen.columns))
    added = added_mask_weights(chosen.scores, chosen.mask)
    multiplied = multiplied_mask_weights(chosen.scores, chosen.mask)
    scale = weights_scale(added, multiplied, visible=chosen.mask)
    panels = [
        panel_of("added", "softmax(s − 10^9 (1 − M))", matrix_with_sums(chosen, added, scale)),
        panel_of("multiplied", "softmax(s) ⊙ M", matrix_with_sums(chosen, multiplied, scale)),
    ]
    show_panels(panels, *width(chosen))
    sums = multiplied.sum(axis=-1)
    worst = int(sums.argmin())
    if chosen.mask.all():
        st.markdown(t("masks.ways_same"))
        return
    lowest = f"{sums[worst]:.2f}"
    if lowest == "1.00":
        st.markdown(t("masks.ways_little"))
        return
    st.markdown(t("masks.ways_sums", token=escaped(chosen.rows[worst]), sum=lowest))
    blocked = blocked_rows(chosen.mask, chosen.mask.shape)
    if blocked.size:
        token = escaped(chosen.rows[blocked[0]])
        st.markdown(t("masks.ways_blocked", token=token, share=percent(added[blocked[0]].max())))
    else:
        st.caption(t("masks.ways_not_blocked"))


VIEWS = {"steps": show_steps, "change": show_change, "ways": show_ways}
"""Name of a view -> function that shows it."""


def show_heading(view: str, *shape: int) -> None:
    """Show the heading and the explanation of a view."""
    st.markdown(f"### {t(f'masks.{view}_title')}", help=t(f"masks.{view}_help"))
    st.caption(t(f"masks.{view}_explained"))
    if max(shape) > MAX_CELLS:
        block = math.ceil(max(shape) / MAX_CELLS)
        st.caption(t("masks.coarse", block=block))


def width(head: Head, columns: int = 2) -> tuple[int, int]:
    """Return the least width of the head's matrices in pixels and in percent.

    Of many tokens, so many matrices stand side by side at most.
    """
    return (LEAST, 0) if max(head.mask.shape) <= MAX_LARGE else (LEAST_OF_MANY, 90 // columns)


def panel_of(name: str, formula: str, matrix: dict[str, Any], **values: str) -> Panel:
    """Return a panel under its name and formula."""
    title = t(f"masks.panel_{name}", **values)
    return Panel(matrix, title, title, t("masks.alt", name=title), f"panel-{name}", formula)


def matrix_of(head: Head, values: np.ndarray, value: str, scale: Scale, **options: Any) -> dict[str, Any]:
    """Return a matrix of one head as `views.panel` does."""
    says = f"{cell_text()}\n{t(f'masks.value_{value}')}: {{value}}"
    around = {"says": [says, None], "scale": scale, "written": WRITTEN.get(value), "theme": theme()}
    drawn = panel(*blocks_of(head, values), **around, **options)
    return drawn | axis_titles()


def axis_titles() -> dict[str, str]:
    """Return the titles of the rows and of the columns, as `panel.js` names them."""
    return {"rowTitle": t("heatmap.query"), "columnTitle": t("lens.key")}


def cell_text() -> str:
    """Return the tooltip template of a query and a key, with {row} and {column} unreplaced."""
    return f"{{row}} {t('heatmap.reads')} {{column}}"


def matrix_with_sums(head: Head, weights: np.ndarray, scale: Scale) -> dict[str, Any]:
    """Return a head's weights with row sums; masked cells of weight 0 are gaps."""
    values = np.where(head.mask | (weights > 0), weights, np.nan)
    sums = block_means(weights.sum(axis=-1, keepdims=True), block_size(weights))[:, 0]
    return matrix_of(head, values, "weight", scale, sums=(t("masks.value_sum"), sums))


def blocks_of(head: Head, values: np.ndarray) -> tuple[np.ndarray, tuple[list[str], list[str]]]:
    """Return values and tokens to draw: for long texts, the means of blocks."""
    block = block_size(values)
    if block == 1:
        return values, (head.rows, head.columns)
    return block_means(values, block), (block_names(head.rows, block), block_names(head.columns, block))


def block_size(values: np.ndarray) -> int:
    """Return the number of rows and columns per block."""
    return math.ceil(max(values.shape) / MAX_CELLS)


def weights_scale(*drawn: np.ndarray, visible: np.ndarray) -> Scale:
    """Return the scale that matrices of attention weights share; `visible` as in `weight_limit`."""
    return Scale(weight_limit(max(map(scale_limit, drawn)), visible))


def scale_limit(values: np.ndarray) -> float:
    """Return the largest absolute value drawn, ignoring NaN; 1 if all are 0."""
    return float(np.nanmax(np.abs(block_means(values, block_size(values))), initial=0)) or 1.0
