"""What a head does, in numbers: NumPy in, NumPy out."""

from transformer_viz.analysis.heads import entropy, induction_score, previous_token_score

__all__ = ["entropy", "induction_score", "previous_token_score"]
