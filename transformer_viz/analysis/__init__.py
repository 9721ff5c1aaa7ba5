"""What heads and masks do, in numbers: NumPy in, NumPy out."""

from transformer_viz.analysis.heads import entropy, induction_score, previous_token_score
from transformer_viz.analysis.masking import (
    added_mask_weights,
    block_means,
    blocked_rows,
    future_share,
    masked_scores,
    masked_weights,
    multiplied_mask_weights,
    padding_share,
)
from transformer_viz.analysis.masks import (
    causal_mask,
    named_mask,
    pack,
    padding_mask,
    unpack,
    window_mask,
)

__all__ = [
    "added_mask_weights",
    "block_means",
    "blocked_rows",
    "causal_mask",
    "entropy",
    "future_share",
    "induction_score",
    "masked_scores",
    "masked_weights",
    "multiplied_mask_weights",
    "named_mask",
    "pack",
    "padding_mask",
    "padding_share",
    "previous_token_score",
    "unpack",
    "window_mask",
]
