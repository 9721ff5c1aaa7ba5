"""Bar charts of probabilities."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.figures.theme import SIDES, TEXT
from transformer_viz.pictures.figures.tokens import axis_label

BAR = 46
"""Height of a name with its two bars, in pixels."""


def before_after_bars(
    names: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    *,
    labels: Mapping[str, str],
    theme: str = "light",
) -> go.Figure:
    """Draw probabilities before and after a change, two bars for each name.

    Args:
        names: Label of each pair of bars, from top to bottom.
        before: float (name,) from 0 to 1.
        after: float (name,) from 0 to 1.
        labels: Legend entries "before" and "after".
        theme: "light" or "dark".

    Returns:
        One trace of bars before, and one after.
    """
    places = list(range(len(names)))

    def bars(side, values, color):
        return {
            "type": "bar",
            "orientation": "h",
            "x": np.asarray(values, np.float32),
            "y": places,
            "name": labels[side],
            "marker": {"color": color},
            "text": [f"{value:.1%}" for value in values],
            "textposition": "outside",
            "textfont": {"color": TEXT[theme]},
            "cliponaxis": False,
            "hovertemplate": "%{y}: %{x:.2%}<extra>%{fullData.name}</extra>",
        }

    layout = {
        "height": BAR * len(names) + 48,
        "margin": {"l": 10, "r": 50, "t": 34, "b": 6},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "bargap": 0.3,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": {"range": [0, 1], "visible": False, "fixedrange": True},
        "yaxis": {
            "tickvals": places,
            "ticktext": [axis_label(name) for name in names],
            "ticks": "",
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
        },
    }
    colors = SIDES[theme]
    both = [bars("before", before, colors["train"]), bars("after", after, colors["validation"])]
    return go.Figure(both, layout)
