"""The views of the Masks page: steps of the computation, change of the weights, two ways to mask."""

import math
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz.analysis import (
    added_mask_weights,
    block_means,
    blocked_rows,
    masked_scores,
    multiplied_mask_weights,
)
from transformer_viz.pictures.views import MAX_CELLS, Scale, block_names, panel, weight_limit
from transformer_viz.pictures.views.panel import MAX_LARGE
from transformer_viz.ui.pages.masks.choice import show_brushes, take_strokes
from transformer_viz.ui.pages.masks.sides import Head
from transformer_viz.ui.shell.charts import theme
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.matrix import Captions, Painting, show_matrix

MIN_DIFFERENCE = 0.01
"""Least end of the colour scale for differences of weights: smaller differences are drawn pale."""

MASK_SCALE = Scale(1.6, drawn=False)
"""Colour scale of a mask, which gives allowed cells (1) a medium colour."""

LAYOUT = """<style>
.st-key-mask-effects, [class*=st-key-panels] { display: grid;
  --wide: max(var(--least) * var(--projected, 1), var(--share, 0%));
  grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--wide)), 1fr)) }
.st-key-mask-effects { align-items: stretch; --least: 380px }
.st-key-panels-few { --least: 215px }
.st-key-panels-many { --least: 240px; --share: 40% }
.st-key-panels-many-3 { --least: 240px; --share: 30% }
.st-key-mask-effects > div > div { height: 100% }
.st-key-mask-choice .stSlider > [role=group] { height: 2rem; transform: translateY(-2px) }
.st-key-mask-choice .stCheckbox label { transform: translateY(4px) }
</style>"""
"""Panels side by side as far as they fit; sliders and switches aligned with the buttons beside them."""


def show_steps(chosen: Head, other: Head) -> None:
    """Show scores, mask, masked scores and weights of the chosen mask, in the order of the computation."""
    show_heading("steps", len(chosen.rows), len(chosen.columns))
    scores = np.asarray(chosen.scores)
    scale = Scale(scale_limit(scores), signed=True)
    weights = np.where(chosen.mask, chosen.weights, np.nan)
    with grid(chosen):
        bias = " + B" if chosen.has_bias else ""
        show_panel("scores", rf"s = QK^\top/\sqrt{{d_k}}{bias}", head_panel(chosen, scores, "score", scale))
        if chosen.name == "painted":
            show_painting(chosen)
        else:
            allowed = np.where(chosen.mask, 1, np.nan)
            show_panel("mask", r"M \in \{0, 1\}", head_panel(chosen, allowed, "mask", MASK_SCALE))
        show_panel(
            "masked_scores",
            r"s + \ln M \quad (\ln 0 = -\infty)",
            head_panel(chosen, masked_scores(scores, chosen.mask), "score", scale),
        )
        show_panel(
            "weights",
            r"\mathrm{softmax}(s)",
            head_panel(chosen, weights, "weight", weights_scale(weights, visible=chosen.mask)),
        )
    if chosen.name == "painted":
        show_brushes()


def show_painting(chosen: Head) -> None:
    """Show the mask as a matrix whose cells can be painted."""
    says = [f"{cell_text()}\n{t(f'masks.{may}')}" for may in ("may", "may_not")]
    values = np.where(chosen.mask, 1, np.nan)
    with st.container():
        show_panel_title("mask", r"M \in \{0, 1\}")
        show_matrix(
            panel(values, (chosen.rows, chosen.columns), says=says, scale=MASK_SCALE, theme=theme())
            | axis_titles(),
            "paint",
            Captions(t("masks.panel_mask"), t("masks.paint_alt")),
            group="masks",
            painting=Painting(
                st.session_state.painted["applied"],
                on_paint=lambda: take_strokes(st.session_state["paint"].strokes),
            ),
        )


def show_change(chosen: Head, other: Head) -> None:
    """Show the weights before the mask and with it, and their difference."""
    show_heading("change", len(chosen.rows), len(chosen.columns))
    sides = [np.where(side.mask, side.weights, np.nan) for side in (other, chosen)]
    scale = weights_scale(*sides, visible=np.stack([chosen.mask, other.mask]))
    difference = chosen.weights - other.weights
    difference = np.where(chosen.mask | other.mask, difference, np.nan)
    with grid(chosen, three=True):
        for name, side, weights in zip(("other", "with"), (other, chosen), sides, strict=True):
            drawn = head_panel(side, weights, "weight", scale)
            show_panel(name, r"\mathrm{softmax}(s)", drawn, mask=t(f"masks.name_{side.name}"))
        drawn = head_panel(
            chosen, difference, "difference", Scale(max(scale_limit(difference), MIN_DIFFERENCE), signed=True)
        )
        show_panel("difference", r"W_2 - W_1", drawn)


def show_ways(chosen: Head, other: Head) -> None:
    """Show additive and multiplicative masking of the head's scores, with row sums."""
    show_heading("ways", len(chosen.rows), len(chosen.columns))
    added = added_mask_weights(chosen.scores, chosen.mask)
    multiplied = multiplied_mask_weights(chosen.scores, chosen.mask)
    scale = weights_scale(added, multiplied, visible=chosen.mask)
    with grid(chosen):
        for name, formula, weights in (
            ("added", r"\mathrm{softmax}(s - 10^9\,(1 - M))", added),
            ("multiplied", r"\mathrm{softmax}(s) \odot M", multiplied),
        ):
            show_panel(name, formula, panel_with_sums(chosen, weights, scale))
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
        st.markdown(t("masks.ways_blocked", token=token, share=f"{added[blocked[0]].max():.3f}"))
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


def grid(head: Head, *, three: bool = False) -> DeltaGenerator:
    """Return the container of the panels, with more columns if the matrices are small."""
    many = "panels-many-3" if three else "panels-many"
    return st.container(key=many if max(head.mask.shape) > MAX_LARGE else "panels-few")


def show_panel(name: str, formula: str, drawn: dict[str, Any], **values: str) -> None:
    """Show a panel, as `head_panel` returns it, under its name and formula."""
    with st.container():
        show_panel_title(name, formula, **values)
        title = t(f"masks.panel_{name}", **values)
        show_matrix(drawn, f"panel-{name}", Captions(title, t("masks.alt", name=title)), group="masks")


def show_panel_title(name: str, formula: str, **values: str) -> None:
    """Show the name of a panel and its formula."""
    st.markdown(f"**{t(f'masks.panel_{name}', **values)}**  \n$\\small {formula}$")


def head_panel(head: Head, values: np.ndarray, value: str, scale: Scale, **options: Any) -> dict[str, Any]:
    """Return the panel of a matrix of one head."""
    says = f"{cell_text()}\n{t(f'masks.value_{value}')}: {{value}}"
    drawn = panel(*blocks_of(head, values), says=[says, None], scale=scale, theme=theme(), **options)
    return drawn | axis_titles()


def axis_titles() -> dict[str, str]:
    """Return the titles of the rows and of the columns, as `panel.js` names them."""
    return {"rowTitle": t("heatmap.query"), "columnTitle": t("lens.key")}


def cell_text() -> str:
    """Return the tooltip template of a query and a key, with {row} and {column} unreplaced."""
    return f"{{row}} {t('heatmap.reads')} {{column}}"


def panel_with_sums(head: Head, weights: np.ndarray, scale: Scale) -> dict[str, Any]:
    """Return the panel of a head's weights with row sums; masked cells of weight 0 are gaps."""
    values = np.where(head.mask | (weights > 0), weights, np.nan)
    sums = block_means(weights.sum(axis=-1, keepdims=True), block_size(weights))[:, 0]
    return head_panel(head, values, "weight", scale, sums=(t("masks.value_sum"), sums))


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
