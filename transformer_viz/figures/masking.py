"""Masks at work: small matrices to stand side by side, and one to paint on."""

import math

import numpy as np
import plotly.graph_objects as go

from transformer_viz.figures.theme import DIVERGING, GAP, GRID, HEADS, MUTED, SEQUENTIAL, TEXT
from transformer_viz.figures.tokens import axis_label

MAX_LABELS = 40
"""Most tokens written on an axis; of more, every second, third ... one; hovering names each."""

SMALL, LARGE = 260, 400
"""Pixels: height of a matrix of few and of many tokens."""

MANY = 16
"""More tokens than this make a matrix large."""


def matrix(values, query_tokens, key_tokens, *, labels, limit=1.0, signed=False, scale=True, theme="light"):
    """Draw one matrix of attention with its scale below, to stand beside others.

    Args:
        values: float (query, key), NaN = masked, a gap.
        query_tokens: Display strings of the rows.
        key_tokens: Display strings of the columns.
        labels: Words of the hover text: "value" (what the numbers are) and "reads".
        limit: Value at the end of the colour scale, above 0.
        signed: Centre the scale on zero; otherwise it begins at 0.
        scale: Draw the scale below.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`; its first trace holds the values as float32.

    Raises:
        ValueError: If the tokens do not fit the values.
    """
    values = np.asarray(values, np.float32)
    if values.shape != (len(query_tokens), len(key_tokens)):
        raise ValueError(
            f"`values` must be (query, key) = {(len(query_tokens), len(key_tokens))}, one row and one "
            f"column for each token. Received shape {values.shape}."
        )
    cells = _cells(values, labels, limit, signed, theme) | {"showscale": scale}
    return go.Figure([cells], _layout(query_tokens, key_tokens, theme))


def matrix_with_sums(values, query_tokens, key_tokens, *, sums, labels, limit=1.0, theme="light"):
    """Draw a matrix of weights with what each row sums to beside it.

    Args:
        values: float (query, key) from 0 to 1.
        query_tokens: Display strings of the rows.
        key_tokens: Display strings of the columns.
        sums: float (query,) from 0 to 1.
        labels: "value" and "reads", and "sum" (title of the sums).
        limit: Value at the end of the colour scale, above 0.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`: the matrix, then the sums as bars, written out where there is room.
    """
    figure = matrix(values, query_tokens, key_tokens, labels=labels, limit=limit, theme=theme)
    sums = np.asarray(sums, np.float32)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": sums,
        "y": list(range(len(sums))),
        "xaxis": "x2",
        "marker": {"color": [HEADS[theme][0 if abs(each - 1) < 1e-3 else 1] for each in sums]},
        "text": [f"{each:.2f}" for each in sums] if len(sums) <= MAX_LABELS else None,
        "textposition": "outside",
        "textfont": {"size": 11, "color": TEXT[theme]},
        "constraintext": "none",
        "cliponaxis": False,
        "hovertemplate": f"{labels['sum']}: %{{x:.3f}}<extra>%{{y}}</extra>",
    }
    sums_axis = {
        "domain": [0.77, 1],
        "range": [0, 2.1],  # the number stands beyond the bar
        "side": "top",
        "tickvals": [0, 1],
        "ticks": "",
        "title": {"text": labels["sum"], "font": {"size": 12, "color": MUTED[theme]}},
        "gridcolor": GRID[theme],
        "zeroline": False,
        "fixedrange": True,
    }
    layout = figure.to_dict()["layout"]
    layout["xaxis"] |= {"domain": [0, 0.74]}
    return go.Figure([figure.data[0], bars], layout | {"xaxis2": sums_axis, "bargap": 0.25})


def paintable_mask(mask, query_tokens, key_tokens, *, labels, theme="light"):
    """Draw a mask to be painted on: each cell says whether it may be read.

    Args:
        mask: bool (query, key), True = may attend.
        query_tokens: Display strings of the rows.
        key_tokens: Display strings of the columns.
        labels: "may" and "may_not", what a cell says of itself, and "reads".
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`.
    """
    mask = np.asarray(mask, bool)
    values = np.where(mask, 1, np.nan)
    words = {"value": "", "reads": labels["reads"]}
    figure = matrix(values, query_tokens, key_tokens, labels=words, limit=1.6, scale=False, theme=theme)
    figure.data[0].text = np.where(mask, labels["may"], labels["may_not"]).tolist()
    figure.data[0].hovertemplate = f"%{{y}} {labels['reads']} %{{x}}<br>%{{text}}<extra></extra>"
    return figure


def _cells(values, labels, limit, signed, theme):
    gap = 1 if max(values.shape) <= MAX_LABELS else 0
    ends = (-limit, 0, limit) if signed else (0, limit)
    return {
        "type": "heatmap",
        "z": np.asarray(values, np.float32),
        "zmin": -limit if signed else 0,
        "zmax": limit,
        "colorscale": (DIVERGING if signed else SEQUENTIAL)[theme],
        "colorbar": {
            "orientation": "h",
            "y": 0,
            "yanchor": "top",
            "ypad": 6,
            "thickness": 7,
            "outlinewidth": 0,
            "tickvals": [0.9999 * end for end in ends],  # at the very end rounding may leave them out
            "ticktext": [f"{end:.2g}" for end in ends],
            "tickfont": {"size": 11, "color": MUTED[theme]},
        },
        "hoverongaps": False,
        "xgap": gap,
        "ygap": gap,
        "hovertemplate": f"%{{y}} {labels['reads']} %{{x}}<br>{labels['value']}: %{{z:.3f}}<extra></extra>",
    }


def _layout(query_tokens, key_tokens, theme):
    """Return the layout of a matrix: first token top left, gaps of one colour, labels while there is room."""
    most = max(len(query_tokens), len(key_tokens))

    def axis(tokens, anchor):
        written = range(0, len(tokens), math.ceil(len(tokens) / MAX_LABELS))
        return {
            "anchor": anchor,
            "tickmode": "array",
            "tickvals": list(written),
            "ticktext": [axis_label(tokens[i]) for i in written],
            "tickfont": {"size": 12 if most <= MANY else 10, "color": TEXT[theme]},
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "range": [-0.5, len(tokens) - 0.5],
            "fixedrange": True,
        }

    narrow = len(key_tokens) <= 4 or max(map(len, key_tokens)) <= 2
    slant = 0 if narrow else -45 if len(key_tokens) <= 9 else -90
    return {
        "height": SMALL if most <= MANY else LARGE,
        "margin": {"l": 4, "r": 4, "t": 4, "b": 34, "pad": 0},
        "font": {"color": TEXT[theme], "size": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "shapes": [_behind(theme)],
        "xaxis": axis(key_tokens, "y") | {"side": "top", "tickangle": slant},
        "yaxis": axis(query_tokens, "x") | {"range": [len(query_tokens) - 0.5, -0.5]},
    }


def _behind(theme):
    """Return what lies behind the cells and shows through the gaps."""
    whole = {"xref": "x domain", "yref": "y domain", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
    return {"type": "rect", "layer": "below", "fillcolor": GAP[theme], "line": {"width": 0}, **whole}
