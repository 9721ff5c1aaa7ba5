"""What a head does, in numbers: NumPy in, NumPy out."""

from transformer_viz.analysis.heads import distance, entropy, induction_score, previous_token_score
from transformer_viz.analysis.reshape import merge_words, renormalise, rollout, word_of_token
from transformer_viz.analysis.roles import Role, roles

__all__ = [
    "Role",
    "distance",
    "entropy",
    "induction_score",
    "merge_words",
    "previous_token_score",
    "renormalise",
    "roles",
    "rollout",
    "word_of_token",
]
