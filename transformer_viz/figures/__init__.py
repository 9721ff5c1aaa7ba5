"""NumPy in, `plotly.graph_objects.Figure` out: nothing is computed here but the layout."""

from transformer_viz.figures.heatmap import weights_heatmap
from transformer_viz.figures.training import training_curves

__all__ = ["training_curves", "weights_heatmap"]
