"""What figures of several panels share: an empty layout, plain axes, words in a place, a centred scale."""

import numpy as np

from transformer_viz.pictures.figures.theme import DIVERGING, GRID, MUTED, TEXT


def bare_layout(theme, height, **rest):
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


def number_axis(title, theme, **rest):
    """Return an axis of numbers; the grid is drawn only where `rest` asks for it."""
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


def signed_heatmap(values, limit, theme, **rest):
    """Return a heatmap of signed values whose colours are centred on zero.

    Args:
        values: float (row, column); NaN is a gap.
        limit: Size of a value at the ends of the scale; 0 where there is nothing but zeros.
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


def panel_words(text, theme, **place):
    """Return words that stand at a place of the plot, as an annotation."""
    font = {"size": 13, "color": MUTED[theme]}
    return {"text": text, "showarrow": False, "font": font, "xref": "paper", "yref": "paper", **place}


def largest(values) -> float:
    """Return the size of the largest value, gaps left out; 0 where there is none."""
    values = np.asarray(values)
    return float(np.nanmax(np.abs(values))) if values.size and not np.isnan(values).all() else 0.0


def axis_of(letter, panel) -> str:
    """Return Plotly's name of the axis of a panel, counted from 0."""
    return letter if panel == 0 else f"{letter}{panel + 1}"
