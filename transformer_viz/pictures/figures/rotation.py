"""A shift of the position as a turn of each pair of sine and cosine."""

import math

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.figures.panels import axis_of, bare_layout, panel_words
from transformer_viz.pictures.figures.theme import GRID, HEADS, TEXT

HEIGHT = 310
"""Pixels of the whole plot."""

RADII = (0.42, 0.58, 0.74)
"""Where the angle of each position is drawn, so that none hides another."""

STEPS = 73
"""Points of a circle."""


def rotation_circles(rates, pairs, positions, k, *, labels, theme="light"):
    """Draw how a shift by k turns pairs of sine and cosine: by the same angle from every position.

    Args:
        rates: float (pair): radians by which each pair turns from one position to the next.
        pairs: Which pairs to draw, one circle for each.
        positions: Positions to start from, at most three.
        k: The shift.
        labels: Words of the picture: "position", and "pair", a template of {pair} and {degrees}.
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`; for each pair the circle, then a wedge for each position from PE[p] to
        PE[p + k], the cosine to the right and the sine upwards.
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
    """Return the line to PE[p], back, along the angle, and out to PE[p + k]; dots at both ends."""
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
