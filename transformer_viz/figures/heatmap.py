"""One head as a heatmap: rows read, columns are read."""

import html
import math

import numpy as np
import plotly.graph_objects as go

from transformer_viz.figures.theme import MUTED, SEQUENTIAL, TEXT
from transformer_viz.text import visible

MAX_LABELS = 64
"""More tokens than this and only every n-th is written on the axes; hovering still names each."""

CELL, LEAST, MOST = 30, 300, 860
"""Pixels: height of a row, and bounds of the whole plot."""


def weights_heatmap(weights, query_tokens, key_tokens, *, labels, mask=None, vmax=1.0, theme="light"):
    """Draw the attention weights of one head.

    Args:
        weights: float (query, key), each in [0, 1].
        query_tokens: Display strings of the rows, who reads.
        key_tokens: Display strings of the columns, who is read.
        labels: Words of the picture: "query" and "key" (axis titles), "weight" (colour bar and hover),
            "reads" (between the two tokens of the hover text).
        mask: bool, broadcastable to `weights`, True = may attend; masked cells are gaps. None: all may.
        vmax: Weight at the end of the colour scale, above 0; the scale begins at 0.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`; its first trace holds the weights as float32, NaN where masked,
        at whole-number positions on both axes.

    Raises:
        ValueError: If the tokens do not fit the weights.
    """
    weights = np.asarray(weights, dtype=np.float32)
    if weights.shape != (len(query_tokens), len(key_tokens)):
        raise ValueError(
            f"`weights` must be (query, key) = {(len(query_tokens), len(key_tokens))}, one row and one "
            f"column for each token. Received shape {weights.shape}."
        )
    if mask is not None:
        weights = np.where(mask, weights, np.float32("nan"))
    rows, columns = [axis_label(token) for token in query_tokens], [axis_label(token) for token in key_tokens]
    many = max(len(rows), len(columns)) > MAX_LABELS
    heatmap = {
        "type": "heatmap",
        "z": weights,
        "zmin": 0,
        "zmax": vmax,
        "colorscale": SEQUENTIAL[theme],
        "hoverongaps": False,
        "xgap": 1 if len(columns) <= MAX_LABELS else 0,
        "ygap": 1 if len(rows) <= MAX_LABELS else 0,
        "colorbar": {
            "title": {"text": labels["weight"], "side": "right"},
            "thickness": 12,
            "outlinewidth": 0,
        },
        "hovertemplate": f"%{{y}} {labels['reads']} %{{x}}<br>{labels['weight']}: %{{z:.4f}}<extra></extra>",
    }
    slant = 0 if len(columns) <= 6 else -45 if len(columns) <= 24 else -90
    across = _axis(columns, labels["key"], theme) | {"side": "top", "tickangle": slant}
    down = _axis(rows, labels["query"], theme) | {"autorange": "reversed"}
    layout = {
        "height": min(MOST, max(LEAST, CELL * len(rows))) + 110,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": across | ({"showticklabels": False, "title": None} if many else {}),
        "yaxis": down | ({"showticklabels": False, "title": None} if many else {}),
    }
    if not many:
        return go.Figure([heatmap], layout)
    # the hover text needs every token on the heatmap's own axes: what is written stands on a second pair
    layout |= {
        "xaxis2": _thinned(across, MAX_LABELS // 2) | {"overlaying": "x", "matches": "x"},
        "yaxis2": _thinned(down, MAX_LABELS) | {"overlaying": "y", "matches": "y"},
    }
    nothing = {
        "x": [None],
        "y": [None],
        "xaxis": "x2",
        "yaxis": "y2",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    return go.Figure([heatmap, {"type": "scatter", **nothing}], layout)


def axis_label(token) -> str:
    """Return a token as Plotly must be given it: nothing in it is markup, nothing invisible."""
    return html.escape(visible(token), quote=False).replace("$", "&#36;") or "␠"


def _axis(tokens, title, theme):
    """Return an axis whose positions are whole numbers and whose texts are the tokens."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": MUTED[theme]}},
        "tickfont": {"size": 13, "color": TEXT[theme]},
        "tickmode": "array",
        "tickvals": list(range(len(tokens))),
        "ticktext": tokens,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "constrain": "domain",
    }


def _thinned(axis, most):
    """Return an axis on which every n-th token is written, `most` at most: columns are narrower than rows."""
    step = math.ceil(len(axis["ticktext"]) / most)
    return axis | {"tickvals": axis["tickvals"][::step], "ticktext": axis["ticktext"][::step]}
