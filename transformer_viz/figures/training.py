"""A training as curves: the loss and one figure after each epoch, on the rows trained on and held out."""

import math

import plotly.graph_objects as go

from transformer_viz.figures.theme import GRID, MUTED, SIDES, TEXT

HEIGHT = 260
"""Pixels of the whole plot."""


def training_curves(history, *, figure, labels, best=None, theme="light"):
    """Draw the loss and one figure over the epochs, side by side.

    Args:
        history: One dict for each epoch: "loss", "val_loss", `figure` and "val_" + `figure`; what is missing
            or no finite number is a gap.
        figure: Name of the second panel's figure; None: the loss alone.
        labels: Words of the picture: "epoch", "loss", "figure", "train", "validation" and "best".
        best: Number of the epoch, counted from 1, whose parameters were kept; None: not marked.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`: for each panel a trace of the training and one of the validation rows,
        at the whole numbers of the epochs.

    Raises:
        ValueError: If there is no epoch.
    """
    if not history:
        raise ValueError("`history` must hold at least one epoch. Received none.")
    panels = [("", "loss", labels["loss"])] + ([("2", figure, labels["figure"])] if figure else [])
    traces, axes, marks = [], {}, []
    for axis, key, title in panels:
        traces += _curves(history, key, axis, labels, theme)
        axes[f"xaxis{axis}"] = _axis(labels["epoch"], theme) | {
            "domain": [0.59, 1] if axis else [0, 0.41 if figure else 1],
            "anchor": f"y{axis}",
            "range": [0.5, len(history) + 0.5],
            "dtick": math.ceil(len(history) / 10),
            "tick0": 1,
            "showgrid": False,
        }
        axes[f"yaxis{axis}"] = _axis(title, theme) | {"anchor": f"x{axis}", "automargin": True}
        if best is not None:
            marks.append(_mark(best, axis, theme))
    words = {
        "text": labels["best"],
        "x": best,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12, "color": MUTED[theme]},
    }
    layout = {
        "height": HEIGHT,
        "margin": {"l": 10, "r": 10, "t": 44, "b": 10},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.04, "yanchor": "bottom"},
        "shapes": marks,
        "annotations": [] if best is None else [words],
        **axes,
    }
    return go.Figure(traces, layout)


def _curves(history, key, axis, labels, theme):
    """Return the two traces of one panel."""
    sides = {"": labels["train"], "val_": labels["validation"]}
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": list(range(1, len(history) + 1)),
            "y": [_number(epoch.get(prefix + key)) for epoch in history],
            "name": side,
            "showlegend": not axis,
            "legendgroup": side,
            "xaxis": f"x{axis}",
            "yaxis": f"y{axis}",
            "line": {"color": colour, "width": 2.5},
            "marker": {"color": colour, "size": 7},
            "hovertemplate": f"{side}: %{{y:.4f}}<extra></extra>",
        }
        for (prefix, side), colour in zip(sides.items(), SIDES[theme].values(), strict=True)
    ]


def _number(value):
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _axis(title, theme):
    return {
        "title": {"text": title, "font": {"size": 13, "color": MUTED[theme]}},
        "tickfont": {"size": 12, "color": TEXT[theme]},
        "gridcolor": GRID[theme],
        "zeroline": False,
        "fixedrange": True,
    }


def _mark(best, axis, theme):
    """Return a dotted line through the epoch that was kept."""
    return {
        "type": "line",
        "xref": f"x{axis}",
        "yref": f"y{axis} domain",
        "x0": best,
        "x1": best,
        "y0": 0,
        "y1": 1,
        "line": {"color": MUTED[theme], "width": 1, "dash": "dot"},
    }
