"""Figure of a position shift as a rotation of each (sine, cosine) pair."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.figures.panels import axis_of, bare_layout, panel_words
from transformer_viz.pictures.theme import GRID, HEADS, TEXT

HEIGHT = 310
"""Height of the figure, in pixels."""

RADII = (0.42, 0.58, 0.74)
"""Radius at which the angle of each position is drawn."""

STEPS = 73
"""Points of a circle."""


def rotation_circles(
    rates: np.ndarray,
    pairs: Sequence[int],
    positions: Sequence[int],
    k: int,
    *,
    labels: Mapping[str, str],
    theme: str = "light",
) -> go.Figure:
    """Draw how a shift by k rotates (sine, cosine) pairs: by the same angle from every position.

    Args:
        rates: float (pair,), rotation of each pair per position, in radians.
        pairs: Pairs to draw, one circle each.
        positions: Positions to start from, at most three.
        k: Shift in positions.
        labels: "position", and "pair", a template with {pair} and {degrees}.
        theme: "light" or "dark".

    Returns:
        For each pair a circle, then for each position p a wedge from PE[p] to PE[p + k]; x is the cosine, y
        the sine.
    """
    traces, axes, words = [], {}, []
    for panel, pair in enumerate(pairs):
        place = {"xaxis": axis_of("x", panel), "yaxis": axis_of("y", panel)}
        around = np.linspace(0, 2 * math.pi, STEPS)
        circle = {"line": {"color": GRID[theme], "width": 2}, "hoverinfo": "skip", "showlegend": False}
        traces.append(_line(np.cos(around), np.sin(around)) | circle | place)
        for number, position in enumerate(positions):
            begin, turn = position * rates[pair], k * rates[pair]
            name = f"{labels['position']} {position} → {position + k}"
            wedge = _wedge(begin, math.fmod(turn, 2 * math.pi), RADII[number], HEADS[theme][number])
            traces.append(wedge | {"name": name, "legendgroup": name, "showlegend": panel == 0} | place)
        number = panel + 1 if panel else ""
        domain = [panel / len(pairs) + 0.015, (panel + 1) / len(pairs) - 0.015]
        nothing = {"visible": False, "range": [-1.12, 1.12], "fixedrange": True}
        axes[f"xaxis{number}"] = nothing | {"domain": domain, "anchor": place["yaxis"], "constrain": "domain"}
        axes[f"yaxis{number}"] = nothing | {"anchor": place["xaxis"], "scaleanchor": place["xaxis"]}
        axes[f"yaxis{number}"] |= {"domain": [0.02, 0.88], "constrain": "domain", "constraintoward": "top"}
        title = labels["pair"].format(pair=pair, degrees=f"{math.degrees(k * rates[pair]):,.0f}")
        words.append(panel_words(title, theme, x=sum(domain) / 2, y=0.9, xanchor="center", yanchor="bottom"))
    legend = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"}
    layout = bare_layout(theme, HEIGHT, annotations=words, legend=legend, showlegend=True, **axes)
    return go.Figure(traces, layout | {"legend": legend | {"font": {"color": TEXT[theme]}}})


def _wedge(begin, turn, radius, colour):
    """Return a line from the centre to PE[p], back, along the angle and out to PE[p + k]."""
    angles = np.linspace(begin, begin + turn, STEPS)
    x = [0, math.cos(begin), radius * math.cos(begin), *(radius * np.cos(angles)), math.cos(begin + turn), 0]
    y = [0, math.sin(begin), radius * math.sin(begin), *(radius * np.sin(angles)), math.sin(begin + turn), 0]
    sizes = [0] * len(x)
    sizes[1], sizes[-2] = 7, 12
    return _line(x, y) | {
        "mode": "lines+markers",
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": sizes, "opacity": 1},
        "hovertemplate": "%{fullData.name}<extra></extra>",
    }


def _line(x, y):
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
    }
