"""Histograms of one head."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.theme import GRID, HEADS, MUTED, TEXT

HEIGHT = 300
"""Height of a histogram, in pixels."""


def shares_histogram(
    names: Sequence[str],
    shares: np.ndarray,
    even: np.ndarray | None = None,
    *,
    labels: Mapping[str, str],
    theme: str = "light",
) -> go.Figure:
    """Draw shares that sum to 1 as bars, one for each bin.

    Args:
        names: Names of the bins, from left to right.
        shares: float (bin,) from 0 to 1.
        even: float (bin,), the same under uniform attention, drawn as lines; None: not drawn.
        labels: Titles of the axes "bins" and "shares", and legend entries "head" and "even".
        theme: "light" or "dark".

    Returns:
        One trace of bars, and one of lines if `even` is given.
    """
    places = list(range(len(names)))
    said = f"{labels['bins']}: %{{customdata}}<br>{labels['shares']}: %{{y:.1%}}"
    said += "<extra>%{fullData.name}</extra>"
    shared = {"x": places, "customdata": list(names), "hovertemplate": said}
    traces = [
        {
            "type": "bar",
            "y": np.asarray(shares, np.float32),
            "name": labels["head"],
            "marker": {"color": HEADS[theme][0]},
            **shared,
        }
    ]
    if even is not None:
        line = {"color": TEXT[theme], "width": 2}
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "y": np.asarray(even, np.float32),
                "name": labels["even"],
                "marker": {"symbol": "line-ew", "size": 14, "line": line, "color": TEXT[theme]},
                **shared,
            }
        )
    axis = {"tickfont": {"size": 11, "color": TEXT[theme]}, "fixedrange": True, "zeroline": False}
    title = {"size": 13, "color": MUTED[theme]}
    layout = {
        "height": HEIGHT,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "font": {"color": TEXT[theme], "size": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "bargap": 0.15,
        "showlegend": even is not None,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": axis
        | {
            "tickvals": places,
            "ticktext": list(names),
            "tickangle": -60,
            "automargin": True,
            "title": {"text": labels["bins"], "font": title},
        },
        "yaxis": axis
        | {
            "tickformat": ".0%",
            "rangemode": "tozero",
            "gridcolor": GRID[theme],
            "automargin": True,
            "title": {"text": labels["shares"], "font": title},
        },
    }
    return go.Figure(traces, layout)
