"""Reliability diagram of a classifier: how sure it is beside how often it is right."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.theme import GRID, MUTED, SIDES, TEXT
from transformer_viz.questions.evaluation.calibration import Reliability

HEIGHT = 300
"""Height in pixels."""

LEAST, MOST = 8, 34
"""Diameters of the points, by how many rows they stand for, in pixels."""


def reliability_diagram(found: Reliability, labels: Mapping[str, str], theme: str = "light") -> go.Figure:
    """Draw the accuracy over the confidence of each bin (Guo et al., 2017, figure 1), on the diagonal if the
    model is calibrated.

    Args:
        found: The bins.
        labels: Axis titles and words of a point: "confidence", "accuracy" and "rows".
        theme: "light" or "dark".

    Returns:
        The diagonal, and a point for each bin, the larger the more rows it stands for.
    """
    share = found.rows / max(found.rows.max(initial=1), 1)
    line = {"color": MUTED[theme], "width": 1, "dash": "dot"}
    diagonal = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
    points = go.Scatter(
        x=found.confidence,
        y=found.accuracy,
        customdata=found.rows,
        mode="lines+markers",
        line={"color": SIDES[theme]["validation"], "width": 1.5},
        marker={"size": LEAST + (MOST - LEAST) * np.sqrt(share), "opacity": 0.75},
        cliponaxis=False,
        hovertemplate=(
            f"{labels['confidence']}: %{{x:.1%}}<br>{labels['accuracy']}: %{{y:.1%}}<br>"
            f"{labels['rows']}: %{{customdata:,}}<extra></extra>"
        ),
    )
    axis = {"tickformat": ".0%", "gridcolor": GRID[theme], "zeroline": False, "fixedrange": True}
    layout = {
        "height": HEIGHT,
        "margin": {"l": 10, "r": 20, "t": 20, "b": 10},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "xaxis": axis | {"title": labels["confidence"], "range": [0, 1.02], "automargin": True},
        "yaxis": axis | {"title": labels["accuracy"], "range": [0, 1.05], "automargin": True},
    }
    return go.Figure([diagonal, points], layout)
