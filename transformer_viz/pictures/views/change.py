"""Attention before and after an intervention, and their difference."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.analysis import strongest_in_blocks
from transformer_viz.pictures.theme import largest
from transformer_viz.pictures.views.blocks import MAX_CELLS, block_names
from transformer_viz.pictures.views.panel import MAX_LARGE, Scale, panel, percent, weight_limit

ROUNDING = 1e-5
"""Differences below this are rounding errors; the colour scale is not stretched to them."""


def attention_change(
    before: ArrayLike,
    after: ArrayLike,
    tokens: Sequence[str],
    *,
    labels: Mapping[str, str],
    masks: Sequence[np.ndarray] | None = None,
    theme: str = "light",
) -> dict[str, dict]:
    """Return panels of one head's attention weights before and after a change, and of their difference.

    Args:
        before: float (query, key), each in [0, 1].
        after: float (query, key), for the same tokens.
        tokens: Display strings of rows and columns.
        labels: "weight", "reads" (joins the two tokens in a cell's tooltip), "query" and "key" (titles of the
            rows and of the columns).
        masks: bool before and after, broadcastable to the weights, True = may attend. Masked cells are gaps;
            in the difference, those masked in both. None: no mask.
        theme: "light" or "dark".

    Returns:
        "before", "after" and "difference" -> panel: the first two share one scale (`weight_limit`), the
        third is after - before, centred on 0. With more than `MAX_CELLS` tokens, each cell is the
        strongest value of a block.

    Raises:
        ValueError: If the tokens do not fit the weights.
    """
    size = (len(tokens), len(tokens))
    before, after = (np.asarray(weights, dtype=np.float32) for weights in (before, after))
    if not before.shape == after.shape == size:
        raise ValueError(
            f"`before` and `after` must be (query, key) = {size}, as there are tokens. "
            f"Received shapes {before.shape} and {after.shape}."
        )
    difference = after - before
    if masks is not None:
        before, after = (
            np.where(mask, each, np.nan) for mask, each in zip(masks, (before, after), strict=True)
        )
        difference = np.where(masks[0] | masks[1], difference, np.nan)
    visible = ~np.isnan([before, after])
    (before, block), (after, _), (difference, _) = (
        strongest_in_blocks(weights, MAX_CELLS) for weights in (before, after, difference)
    )
    top, limit = weight_limit(max(largest(before), largest(after)), visible), largest(difference)
    limit = limit if limit >= ROUNDING else top
    names = block_names(tokens, block)
    around = {"rowTitle": labels["query"], "columnTitle": labels["key"], "fit": "square"}
    around |= {"pixels": 12 if len(names) <= MAX_LARGE else 11}
    ticks = {"ticks": [percent(share * top) for share in (0, 0.5, 1)]}
    tooltip = f"{{row}} {labels['reads']} {{column}}\n{labels['weight']}: "

    def drawn(values, number, scale):
        says = [tooltip + number, None]
        return panel(values, (names, names), says=says, scale=scale, written="shares", theme=theme) | around

    return {
        "before": drawn(before, "{value}", Scale(top)) | ticks,
        "after": drawn(after, "{value}", Scale(top)) | ticks,
        "difference": drawn(difference, "{change}", Scale(limit, signed=True)),
    }
