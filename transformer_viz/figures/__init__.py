"""NumPy in, `plotly.graph_objects.Figure` out: nothing is computed here but the layout."""

from transformer_viz.figures.bars import before_after_bars
from transformer_viz.figures.forming import heads_grid, time_lapse
from transformer_viz.figures.heatmap import weights_heatmap
from transformer_viz.figures.learning import learning_curves
from transformer_viz.figures.masking import matrix, matrix_with_sums, paintable_mask

__all__ = [
    "before_after_bars",
    "heads_grid",
    "learning_curves",
    "matrix",
    "matrix_with_sums",
    "paintable_mask",
    "time_lapse",
    "weights_heatmap",
]
