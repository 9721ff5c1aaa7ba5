"""NumPy in, `plotly.graph_objects.Figure` out: nothing is computed here but the layout."""

from transformer_viz.figures.heatmap import weights_heatmap

__all__ = ["weights_heatmap"]
