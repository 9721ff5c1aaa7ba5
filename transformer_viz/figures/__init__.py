"""NumPy in, `plotly.graph_objects.Figure` out: nothing is computed here but the layout."""

from transformer_viz.figures.forming import heads_grid, time_lapse
from transformer_viz.figures.heatmap import weights_heatmap
from transformer_viz.figures.learning import learning_curves

__all__ = ["heads_grid", "learning_curves", "time_lapse", "weights_heatmap"]
