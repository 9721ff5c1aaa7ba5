"""Learning curves: loss and one metric, on the training and the validation set."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from transformer_viz.pictures.theme import GRID, MUTED, SIDES, TEXT

HEIGHT, LINE = 270, 18
"""Height of the plot and of a line of text above it, in pixels."""

SHARES = (
    *("accuracy", "exact_match", "token_accuracy"),
    *("uniform_accuracy", "headless_accuracy", "calibration_error"),
)
"""Metrics between 0 and 1: their axis is fixed at 0 to 100 %."""

RATIOS = ("perplexity",)
"""Metrics with a logarithmic axis."""


def learning_curves(
    train: Sequence[Mapping[str, Any]],
    validation: Sequence[Mapping[str, Any]],
    *,
    over: str,
    metric: str | None,
    labels: Mapping[str, str | None],
    last: int | None = None,
    best: int | None = None,
    theme: str = "light",
) -> go.Figure:
    """Draw the loss and one metric side by side, over the steps or the epochs.

    Args:
        train: One dict for each step or epoch: `over`, "loss" and `metric`; missing or non-finite values are
            gaps.
        validation: The same with "val_loss" and "val_" + `metric`.
        over: "step" or "epoch".
        metric: Metric of the second panel; None: no second panel.
        labels: Axis titles and legend: `over`, "loss", "metric", "train", "validation" and "best".
        last: Last step or epoch of the axes; None: unknown, ticks without numbers.
        best: Epoch to mark as the best; None: none.
        theme: "light" or "dark".

    Returns:
        For each panel, a training and a validation trace.
    """
    panels = [("", "loss", labels["loss"])] + ([("2", metric, labels["metric"])] if metric else [])
    traces, axes, marks, words = [], {}, [], []
    end = last or 1
    room = 0 if best is None else LINE  # keeps the "best" label clear of the panel titles
    for axis, key, title in panels:
        domain = [0.6, 1] if axis else [0, 0.43 if metric else 1]
        traces += [
            _curve(train, over, key, "train", axis, labels, theme),
            _curve(validation, over, "val_" + key, "validation", axis, labels, theme),
        ]
        axes[f"xaxis{axis}"] = _axis(theme) | {
            "domain": domain,
            "anchor": f"y{axis}",
            "range": [0, end] if over == "step" else [0.5, end + 0.5],
            "showticklabels": last is not None,
            "showgrid": False,
            "title": {"text": labels[over], "font": {"size": 13, "color": MUTED[theme]}},
            **({"dtick": math.ceil(end / 10), "tick0": 1} if over == "epoch" else {"nticks": 5}),
        }
        axes[f"yaxis{axis}"] = _axis(theme) | {"anchor": f"x{axis}", "automargin": True} | _scale(key)
        above = {"y": 1, "yref": "paper", "yanchor": "bottom"}
        words.append(_words(title, theme, x=domain[0], xref="paper", **above, yshift=4 + room))
        if best is not None:
            side = "right" if 2 * best > end else "left"
            place = {"x": best, "xref": f"x{axis}", "xanchor": side, "yshift": 4}
            marks.append(_mark(best, axis, theme))
            words.append(_words(labels["best"], theme, **above | place))
    layout = {
        "height": HEIGHT + room,
        "margin": {"l": 10, "r": 14, "t": 30 + room, "b": 76},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"},
        "shapes": marks,
        "annotations": words,
        **axes,
    }
    return go.Figure(traces, layout)


def _curve(rows, over, key, side, axis, labels, theme):
    """Return the trace of one set in one panel, with markers where there are few values."""
    dotted = over == "epoch" or side == "validation" or len(rows) == 1  # one point has no line
    share = ".1%" if key.removeprefix("val_") in SHARES else ".4f"
    return {
        "type": "scatter",
        "mode": "lines+markers" if dotted else "lines",
        "x": [row[over] for row in rows],
        "y": [_number(row.get(key)) for row in rows],
        "name": labels[side],
        "legendgroup": side,
        "showlegend": not axis,
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        "line": {"color": SIDES[theme][side], "width": 2.5 if dotted else 1.5},
        "marker": {"size": 7},
        "cliponaxis": False,
        "hovertemplate": f"{labels[side]}: %{{y:{share}}}<extra></extra>",
    }


def _scale(key):
    """Return the y axis settings of a metric."""
    if key in SHARES:
        return {"range": [0, 1.02], "tickformat": ".0%"}
    return {"type": "log"} if key in RATIOS else {"rangemode": "tozero"}


def _number(value):
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _axis(theme):
    return {
        "tickfont": {"size": 12, "color": TEXT[theme]},
        "gridcolor": GRID[theme],
        "zeroline": False,
        "fixedrange": True,
    }


def _words(text, theme, **place):
    """Return a text annotation."""
    font = {"size": 13, "color": MUTED[theme]}
    return {"text": text, "showarrow": False, "font": font, "xanchor": "left", **place}


def _mark(best, axis, theme):
    """Return a dotted line at the best epoch."""
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
