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


def weights_heatmap(
    weights, query_tokens, key_tokens, *, labels, mask=None, vmax=1.0, theme="light", filename="attention"
):
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
        filename: Of the downloaded picture, without its ending.

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
    figure = go.Figure(
        go.Heatmap(
            z=weights,
            zmin=0,
            zmax=vmax,
            colorscale=SEQUENTIAL[theme],
            hoverongaps=False,
            xgap=1 if len(columns) <= MAX_LABELS else 0,
            ygap=1 if len(rows) <= MAX_LABELS else 0,
            colorbar={
                "title": {"text": labels["weight"], "side": "right"},
                "thickness": 12,
                "outlinewidth": 0,
            },
            hovertemplate=f"%{{y}} {labels['reads']} %{{x}}<br>{labels['weight']}: %{{z:.4f}}<extra></extra>",
        )
    )
    height = min(MOST, max(LEAST, CELL * len(rows))) + 110
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        font={"color": TEXT[theme], "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        meta={"filename": filename},
    )
    tick_font = {"size": 13, "color": TEXT[theme]}
    common = {
        "tickfont": tick_font,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "ticks": "",
        "constrain": "domain",
    }
    title_font = {"size": 13, "color": MUTED[theme]}
    figure.update_xaxes(
        **common,
        **_ticks(columns),
        side="top",
        tickangle=0 if len(columns) <= 6 else -45 if len(columns) <= 24 else -90,
        title={"text": labels["key"], "font": title_font},
    )
    figure.update_yaxes(
        **common,
        **_ticks(rows),
        autorange="reversed",
        title={"text": labels["query"], "font": title_font},
    )
    return figure


def axis_label(token) -> str:
    """Return a token as Plotly must be given it: nothing in it is markup, nothing invisible."""
    return html.escape(visible(token), quote=False).replace("$", "&#36;") or "␠"


def _ticks(labels):
    """Return tick positions and texts: all of them, or every n-th."""
    step = math.ceil(len(labels) / MAX_LABELS)
    return {"tickmode": "array", "tickvals": list(range(0, len(labels), step)), "ticktext": labels[::step]}
