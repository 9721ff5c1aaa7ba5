"""What a change did: attention before, after and their difference."""

import numpy as np

from transformer_viz.analysis import strongest_in_blocks
from transformer_viz.pictures.figures.panels import largest
from transformer_viz.pictures.views.blocks import MAX_CELLS, block_names
from transformer_viz.pictures.views.panel import MAX_LARGE, panel

ROUNDING = 1e-5
"""A difference below this is rounding: it is drawn as none, not blown up to the ends of the scale."""


def attention_change(before, after, tokens, *, labels, masks=None, theme="light") -> dict[str, dict]:
    """Return the attention weights of one head before a change, after it, and their difference as panels.

    Args:
        before: float (query, key), each in [0, 1].
        after: The same, of the same tokens.
        tokens: Display strings of the rows and the columns.
        labels: Words of the picture: "weight", "reads" (between the two tokens of what is said of a cell),
            "query" and "key" (names of the rows and of the columns).
        masks: Two bool arrays, broadcastable to the weights, True = may attend, before and after; masked
            cells are gaps, of the difference those masked in both. None: all may.
        theme: "light" or "dark".

    Returns:
        "before", "after" and "difference" -> panel: the first two share one scale from zero to their maximum,
        the third is after - before, centred on zero. Of more than `MAX_CELLS` tokens each cell is the
        strongest value of a block of them.

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
    (before, block), (after, _), (difference, _) = (
        strongest_in_blocks(weights, MAX_CELLS) for weights in (before, after, difference)
    )
    top, limit = max(largest(before), largest(after)) or 1.0, largest(difference)
    limit = limit if limit >= ROUNDING else top
    names = block_names(tokens, block)
    around = {"rowTitle": labels["query"], "columnTitle": labels["key"], "fit": "square"}
    around |= {"pixels": 12 if len(names) <= MAX_LARGE else 11}
    scale = {"ticks": [f"{share * top:.2g}" for share in (0, 0.5, 1)]}
    says = f"{{row}} {labels['reads']} {{column}}\n{labels['weight']}: "

    def drawn(values, number, **options):
        return panel(values, (names, names), says=[says + number, None], theme=theme, **options) | around

    return {
        "before": drawn(before, "{value}", limit=top) | scale,
        "after": drawn(after, "{value}", limit=top) | scale,
        "difference": drawn(difference, "{change}", limit=limit, signed=True),
    }
