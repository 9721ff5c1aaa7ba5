"""Shared parts of figures with several panels: layout, axes, annotations, diverging heatmaps."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.pictures.theme import DIVERGING, GRID, MUTED, TEXT


def bare_layout(theme: str, height: int, **rest: Any) -> dict[str, Any]:
    """Return a layout without a frame, a background or a legend."""
    return {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        **rest,
    }


def number_axis(title: str | None, theme: str, **rest: Any) -> dict[str, Any]:
    """Return a numeric axis, without grid lines unless `rest` turns them on."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": MUTED[theme]}, "standoff": 12},
        "tickfont": {"size": 12, "color": TEXT[theme]},
        "gridcolor": GRID[theme],
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "nticks": 7,
        **rest,
    }


def signed_heatmap(values: ArrayLike, limit: float, theme: str, **rest: Any) -> dict[str, Any]:
    """Return a heatmap of signed values with a diverging colour scale centred on zero.

    Args:
        values: float (row, column); NaN is a gap.
        limit: Absolute value at the ends of the scale; 0 if all values are 0.
        theme: "light" or "dark".
        **rest: Properties of the trace.
    """
    return {
        "type": "heatmap",
        "z": np.asarray(values, dtype=np.float32),
        "zmin": -(limit or 1.0),
        "zmax": limit or 1.0,
        "colorscale": DIVERGING[theme],
        "hoverongaps": False,
        **rest,
    }


def panel_words(text: str, theme: str, **place: Any) -> dict[str, Any]:
    """Return a text annotation in coordinates of the whole plot."""
    font = {"size": 13, "color": MUTED[theme]}
    return {"text": text, "showarrow": False, "font": font, "xref": "paper", "yref": "paper", **place}


def axis_of(letter: str, panel: int) -> str:
    """Return Plotly's name of the axis of a panel, 0-based."""
    return letter if panel == 0 else f"{letter}{panel + 1}"
