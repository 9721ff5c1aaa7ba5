"""What a head does and how positions are written, in numbers: NumPy in, NumPy out."""

from transformer_viz.analysis.blocks import strongest_in_blocks
from transformer_viz.analysis.heads import entropy, induction_score, previous_token_score
from transformer_viz.analysis.order import in_first_order, shuffled_order
from transformer_viz.analysis.positions import (
    one_hot_positions,
    position_similarity,
    position_table,
    shift_error,
    shift_rotation,
    similarity_by_distance,
    sinusoidal_positions,
    sinusoidal_rates,
)

__all__ = [
    "entropy",
    "in_first_order",
    "induction_score",
    "one_hot_positions",
    "position_similarity",
    "position_table",
    "previous_token_score",
    "shift_error",
    "shift_rotation",
    "shuffled_order",
    "similarity_by_distance",
    "sinusoidal_positions",
    "sinusoidal_rates",
    "strongest_in_blocks",
]
