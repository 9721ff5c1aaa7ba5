"""What a change did: attention before, after and their difference."""

import math

import numpy as np
import plotly.graph_objects as go

from transformer_viz.analysis import strongest_in_blocks
from transformer_viz.figures.forming import axis_of
from transformer_viz.figures.panels import bare_layout, largest, panel_words, signed_heatmap
from transformer_viz.figures.theme import SEQUENTIAL, TEXT
from transformer_viz.figures.tokens import axis_label

MAX_LABELS = 40
"""More tokens than this are not written on the axes; hovering names them."""

MAX_CELLS = 160
"""Of more tokens, each cell is the strongest of a block: a screen without room for all rows drops any."""

ACROSS, DOWN = 12, 22
"""Tokens that are written above a panel and beside the first one, every n-th of more."""

CELL, LEAST, MOST = 20, 220, 340
"""Pixels: height of a row, and bounds of a panel."""

ABOVE, BELOW, LETTER = 30, 64, 8
"""Pixels: room for the column's tokens where they lie flat, for colour bars, for an upright letter."""

NOTHING = 1e-5
"""A difference below this is rounding: it is drawn as none, not blown up to the ends of the scale."""


def attention_change(before, after, tokens, *, labels, masks=None, theme="light"):
    """Draw the attention weights of one head before a change, after it, and their difference.

    Args:
        before: float (query, key), each in [0, 1].
        after: The same, of the same tokens.
        tokens: Display strings of the rows and the columns.
        labels: Words of the picture: "before", "after", "difference", "weight", "reads" (between the two
            tokens of the hover text).
        masks: Two bool arrays, broadcastable to the weights, True = may attend, before and after; masked
            cells are gaps, of the difference those masked in both. None: all may.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`; three heatmaps: the first two share one scale from zero to their
        maximum, the third is after - before, centred on zero. Of more than `MAX_CELLS` tokens each cell is
        the strongest value of a block of them.

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
        nowhere = np.float32("nan")
        before, after = (
            np.where(mask, each, nowhere) for mask, each in zip(masks, (before, after), strict=True)
        )
        difference = np.where(masks[0] | masks[1], difference, nowhere)
    (before, block), (after, _), (difference, _) = (
        strongest_in_blocks(weights, MAX_CELLS) for weights in (before, after, difference)
    )
    top, limit = max(largest(before), largest(after)) or 1.0, largest(difference)
    gap = {"xgap": 1, "ygap": 1} if len(tokens) <= MAX_LABELS else {}
    hover = f"%{{y}} {labels['reads']} %{{x}}<br>{labels['weight']}: %{{z:.4f}}<extra></extra>"
    scale = {"type": "heatmap", "zmin": 0, "zmax": top, "colorscale": SEQUENTIAL[theme], "hoverongaps": False}
    shared = {"hovertemplate": hover, **gap}
    limit = limit if limit >= NOTHING else top
    change = signed_heatmap(difference, limit, theme, **shared)
    panels = [
        scale | shared | {"z": before, "showscale": False},
        scale | shared | {"z": after, "colorbar": _bar(0.315, 0.4, [0, top / 2, top])},
        change
        | {
            "hovertemplate": hover.replace("%{z:.4f}", "%{z:+.4f}"),
            "colorbar": _bar(0.845, 0.22, [-limit, 0, limit]),
        },
    ]
    return go.Figure(
        [
            *(
                panel | {"xaxis": axis_of("x", number), "yaxis": axis_of("y", number)}
                for number, panel in enumerate(panels)
            ),
            *(
                {"type": "scatter", "x": [None], "y": [None], "xaxis": f"x{4 + i}", "yaxis": y}
                for i, y in enumerate(("y4", "y2", "y3"))
            ),
        ],
        _three_panels(_names([axis_label(token) for token in tokens], block), labels, theme),
    )


def _names(tokens, block):
    """Return the name of each cell: its token, or the first and the last of its block."""
    starts = range(0, len(tokens), block)
    return [" … ".join(dict.fromkeys([tokens[i], tokens[i : i + block][-1]])) for i in starts]


def _three_panels(tokens, labels, theme):
    """Return the layout of three squares side by side; only the first names its rows."""
    panel = min(MOST, max(LEAST, CELL * len(tokens)))
    longest = max(map(len, tokens), default=0)
    flat = (longest <= 2 and len(tokens) <= 20) or len(tokens) > MAX_LABELS
    height = panel + ABOVE + BELOW + (0 if flat else min(LETTER * longest, 80))
    axes, words = {}, []
    up = [BELOW / height, (BELOW + panel) / height]
    for number, name in enumerate(("before", "after", "difference")):
        left, x, y = number * 0.345, axis_of("x", number), axis_of("y", number)
        across = {"domain": [left, left + 0.31], "anchor": y, "side": "top", "tickangle": 0 if flat else -90}
        down = {"domain": up, "anchor": x, "autorange": "reversed"}
        if number:
            across["matches"], down["matches"] = "x", "y"
        axes[f"xaxis{x[1:]}"] = _token_axis(tokens, theme) | across
        axes[f"yaxis{y[1:]}"] = _token_axis(tokens, theme) | down
        written = {"overlaying": x, "matches": "x"}
        axes[f"xaxis{number + 4}"] = _token_axis(tokens, theme, ACROSS) | across | written
        words.append(
            panel_words(f"<b>{labels[name]}</b>", theme, x=left + 0.155, y=up[0], xanchor="center")
            | {"yanchor": "top", "yshift": -4, "font": {"size": 13, "color": TEXT[theme]}}
        )
    written = {"domain": up, "anchor": "x", "overlaying": "y", "matches": "y"}
    axes["yaxis4"] = _token_axis(tokens, theme, DOWN) | written
    margin = {"l": 10, "r": 10, "t": 10, "b": 10}
    return bare_layout(theme, height, annotations=words, margin=margin, **axes)


def _token_axis(tokens, theme, written=0):
    """Return an axis whose positions are whole numbers and whose texts are the tokens.

    Args:
        tokens: Escaped display strings.
        theme: "light" or "dark".
        written: How many may be written, every n-th of more; 0: none, the axis names them on hovering.
    """
    step = max(math.ceil(len(tokens) / written), 1) if written else 1
    return {
        "tickmode": "array",
        "tickvals": list(range(0, len(tokens), step)),
        "ticktext": tokens[::step],
        "showticklabels": bool(written) and len(tokens) <= MAX_LABELS,
        "tickfont": {"size": 11, "color": TEXT[theme]},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _bar(centre, length, values):
    """Return a flat colour bar below the panels, with some values written."""
    return {
        "orientation": "h",
        "x": centre,
        "len": length,
        "y": 0,
        "yanchor": "bottom",
        "thickness": 10,
        "outlinewidth": 0,
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [f"{value:.2g}" for value in values],
        "tickangle": 0,
        "tickfont": {"size": 11},
    }
