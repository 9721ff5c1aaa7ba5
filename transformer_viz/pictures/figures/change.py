"""What a change did: attention before, after and their difference."""

import math
import unicodedata

import numpy as np
import plotly.graph_objects as go

from transformer_viz.analysis import strongest_in_blocks
from transformer_viz.pictures.figures.panels import bare_layout, largest, panel_words, signed_heatmap
from transformer_viz.pictures.figures.theme import SEQUENTIAL, TEXT
from transformer_viz.pictures.figures.tokens import axis_label
from transformer_viz.text.tokenizer import visible

MAX_LABELS = 40
"""More tokens than this are not written on the axes; hovering names them."""

MAX_CELLS = 160
"""Of more tokens, each cell is the strongest of a block: a screen without room for all rows drops any."""

WIDTH = 332
"""Pixels of a panel with its names: three stand side by side where the window has 1440."""

LINE = 11
"""Pixels between two names at least: where cells are smaller, every n-th is written."""

SHORTEST, LONGEST = 48, 78
"""Pixels of a name at most: of a row where cells need the room, and else; hovering shows the whole of it."""

NAMED, TITLE, RIGHT, BELOW = 26, 24, 20, 46
"""Pixels: for the name of the rows, the line above, half a number of the colour bar, and the bar."""

NOTHING = 1e-5
"""A difference below this is rounding: it is drawn as none, not blown up to the ends of the scale."""


def attention_change(before, after, tokens, *, labels, masks=None, theme="light"):
    """Draw the attention weights of one head before a change, after it, and their difference.

    Args:
        before: float (query, key), each in [0, 1].
        after: The same, of the same tokens.
        tokens: Display strings of the rows and the columns.
        labels: Words of the picture: "before", "after", "difference", "weight", "reads" (between the two
            tokens of the hover text), "query" and "key" (names of the rows and of the columns).
        masks: Two bool arrays, broadcastable to the weights, True = may attend, before and after; masked
            cells are gaps, of the difference those masked in both. None: all may.
        theme: "light" or "dark".

    Returns:
        Three `plotly.graph_objects.Figure` of one size in pixels, each a square heatmap with its colour bar:
        the first two share one scale from zero to their maximum, the third is after - before, centred on
        zero. Of more than `MAX_CELLS` tokens each cell is the strongest value of a block of them.

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
    limit = limit if limit >= NOTHING else top
    hover = f"%{{y}} {labels['reads']} %{{x}}<br>{labels['weight']}: %{{z:.4f}}<extra></extra>"
    scale = {"type": "heatmap", "zmin": 0, "zmax": top, "colorscale": SEQUENTIAL[theme], "hoverongaps": False}
    scale |= {"hovertemplate": hover, "colorbar": _bar([0, top / 2, top])}
    change = signed_heatmap(difference, limit, theme, colorbar=_bar([-limit, 0, limit]))
    change["hovertemplate"] = hover.replace("%{z:.4f}", "%{z:+.4f}")
    panels = {"before": scale | {"z": before}, "after": scale | {"z": after}, "difference": change}
    names = _names(list(map(visible, tokens)), block)
    return tuple(_panel(panel, names, labels[name], labels, theme) for name, panel in panels.items())


def _names(tokens, block):
    """Return the name of each cell: its token, or the first and the last of its block."""
    starts = range(0, len(tokens), block)
    return [" … ".join(dict.fromkeys([tokens[i], tokens[i : i + block][-1]])) for i in starts]


def _panel(heatmap, names, title, labels, theme):
    """Return one heatmap: a square of whole pixels, so that it is known which names have room."""
    written = len(names) <= MAX_LABELS
    room = WIDTH - NAMED - 6 - RIGHT
    most = min(max(room - LINE * len(names), SHORTEST), LONGEST)
    rows, columns = ([_shortened(name, most) for name in names if written] for most in (most, LONGEST))
    side = room - max(map(_pixels, rows), default=0)
    left, every = WIDTH - RIGHT - side, math.ceil(LINE * len(names) / side)
    longest = max(map(_pixels, columns), default=0)
    flat = longest <= LINE or longest + 2 <= every * side / len(names)
    above = TITLE + (0 if not written else LINE + 7 if flat else longest + 6)
    heatmap |= {"xgap": 1, "ygap": 1} if written else {}
    axes = {
        "xaxis": _axis(names, theme) | {"side": "top"},
        "yaxis": _axis(names, theme) | {"autorange": "reversed"},
        "xaxis2": _axis(columns, theme, every)
        | {"side": "top", "tickangle": 0 if flat else -90, "overlaying": "x", "matches": "x"},
        "yaxis2": _axis(rows, theme, every) | {"overlaying": "y", "matches": "y"},
    }
    line = {"y": 1, "yanchor": "top", "yshift": above}
    words = [
        panel_words(f"<b>{title}</b>", theme, x=0, xanchor="left", **line)
        | {"font": {"size": 13, "color": TEXT[theme]}},
        panel_words(labels["key"], theme, x=1, xanchor="right", **line),
        panel_words(labels["query"], theme, x=0, xanchor="center", xshift=9 - left, y=0.5, textangle=-90),
    ]
    layout = bare_layout(theme, above + side + BELOW, width=WIDTH, annotations=words, **axes)
    layout["margin"] = {"l": left, "r": RIGHT, "t": above, "b": BELOW, "autoexpand": False}
    names_of_axes = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "yaxis": "y2"}
    return go.Figure([heatmap, names_of_axes], layout)


def _axis(names, theme, every=0):
    """Return an axis whose positions are whole numbers and whose texts are names.

    Args:
        names: Display strings.
        theme: "light" or "dark".
        every: Which are written, every n-th; 0: none, the axis names them on hovering.
    """
    step = every or 1
    return {
        "tickmode": "array",
        "tickvals": list(range(0, len(names), step)),
        "ticktext": [axis_label(name) for name in names[::step]],
        "showticklabels": bool(every and names),
        "tickfont": {"size": LINE, "color": TEXT[theme]},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
    }


def _shortened(name, most):
    """Return a name that takes no more than so many pixels."""
    if _pixels(name) <= most:
        return name
    while _pixels(name + "…") > most:
        name = name[:-1]
    return name + "…"


def _pixels(name):
    """Return about how wide a name is written."""
    return math.ceil(sum(LINE if unicodedata.east_asian_width(letter) in "WF" else 6.4 for letter in name))


def _bar(values):
    """Return a flat colour bar as wide as its panel and right below it, with some values written."""
    return {
        "orientation": "h",
        "x": 0.5,
        "len": 1,
        "xpad": 0,
        "y": 0,
        "yanchor": "top",
        "ypad": 8,
        "thickness": 10,
        "outlinewidth": 0,
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [f"{value:.2g}" for value in values],
        "tickangle": 0,
        "tickfont": {"size": 11},
    }
