"""Figures drawn larger, for a projector, as `enlarged.js` draws the views."""

from typing import Any

import plotly.graph_objects as go

PROJECTED = 1.65
"""Times the usual size, as in `enlarged.js`."""

LETTERS = 20
"""Height of the letters of numbers, names and legends, in pixels."""

MEASURES = frozenset({"size", "width", "height", "standoff", "thickness", "l", "r", "t", "b"})
"""Properties in pixels: of texts, lines, markers, margins and the figure itself."""


def enlarged(figure: go.Figure) -> go.Figure:
    """Return a figure with everything that is measured in pixels `PROJECTED` times as large.

    Its width is that of its place on the page. Letters whose size is left to the page are 20 pixels high.
    """
    drawn = go.Figure(_scaled(figure.to_plotly_json()))
    letters = {"size": LETTERS}
    drawn.update_layout(legend={"font": letters}, hoverlabel={"font": letters})
    drawn.update_xaxes(tickfont=letters).update_yaxes(tickfont=letters)
    drawn.update_traces(
        selector={"type": "heatmap"}, colorbar={"tickfont": letters, "title": {"font": letters}}
    )
    return drawn


def _scaled(drawn: Any) -> Any:
    """Return a part of a figure with its `MEASURES` enlarged."""
    if isinstance(drawn, dict):
        return {
            name: PROJECTED * value if name in MEASURES and isinstance(value, int | float) else _scaled(value)
            for name, value in drawn.items()
        }
    return [*map(_scaled, drawn)] if isinstance(drawn, list | tuple) else drawn
