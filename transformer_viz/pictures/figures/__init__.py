"""Plotly figures from NumPy arrays; only layout is computed here."""

from plotly.graph_objects import Figure

from transformer_viz.pictures.figures.enlarged import enlarged
from transformer_viz.pictures.figures.histograms import shares_histogram
from transformer_viz.pictures.figures.learning import learning_curves
from transformer_viz.pictures.figures.positions import (
    dimension_curves,
    distance_curves,
    distance_heatmap,
    kinds_grid,
    position_heatmap,
    similarity_map,
)
from transformer_viz.pictures.figures.rotation import rotation_circles

__all__ = [
    "Figure",
    "dimension_curves",
    "distance_curves",
    "distance_heatmap",
    "enlarged",
    "kinds_grid",
    "learning_curves",
    "position_heatmap",
    "rotation_circles",
    "shares_histogram",
    "similarity_map",
]
