"""Analysis of attention weights, masks and position encodings, in NumPy."""

from transformer_viz.analysis.calibration import (
    Calibration,
    best_temperature,
    calibration,
    calibration_error,
    reliability,
)
from transformer_viz.analysis.evaluation import Interval, confusion, label_scores, share_interval
from transformer_viz.analysis.heads import (
    distance,
    entropy,
    induction_score,
    previous_token_score,
    same_token_score,
)
from transformer_viz.analysis.masking import (
    blocked_rows,
    future_share,
    padding_share,
)
from transformer_viz.analysis.masks import (
    causal_mask,
    mask_from_bits,
    mask_to_bits,
    named_mask,
    padding_mask,
    window_mask,
)
from transformer_viz.analysis.naive_bayes import bag_of_words_accuracy
from transformer_viz.analysis.order import in_original_order
from transformer_viz.analysis.patterns import (
    PatternShares,
    TextPatterns,
    is_punctuation,
    pattern_shares,
    patterns_by_layer,
    text_patterns,
)
from transformer_viz.analysis.positions import (
    one_hot_positions,
    position_similarity,
    position_table,
    relative_buckets,
    shift_error,
    shift_rotation,
    similarity_by_distance,
    sinusoidal_positions,
    sinusoidal_rates,
)
from transformer_viz.analysis.projection import project_heads
from transformer_viz.analysis.relations import best_offset, most_read_words, nearest_word, words_at
from transformer_viz.analysis.reshape import (
    merge_words,
    renormalise,
    rollout,
    sentence_of_token,
    word_of_token,
)
from transformer_viz.analysis.roles import Role, held_patterns, roles, roles_of_shares
from transformer_viz.analysis.sampling import distribution, possible
from transformer_viz.analysis.softmax import label_logits, sigmoid, softmax
from transformer_viz.analysis.stream import Place, output_names, read_out, settled_at, stream_places
from transformer_viz.analysis.typical_words import typical_keys, typical_words, words_of
from transformer_viz.values.order import named_order, shuffled_order

__all__ = [
    "Calibration",
    "Interval",
    "PatternShares",
    "Place",
    "Role",
    "TextPatterns",
    "bag_of_words_accuracy",
    "best_offset",
    "best_temperature",
    "blocked_rows",
    "calibration",
    "calibration_error",
    "causal_mask",
    "confusion",
    "distance",
    "distribution",
    "entropy",
    "future_share",
    "held_patterns",
    "in_original_order",
    "induction_score",
    "is_punctuation",
    "label_logits",
    "label_scores",
    "mask_from_bits",
    "mask_to_bits",
    "merge_words",
    "most_read_words",
    "named_mask",
    "named_order",
    "nearest_word",
    "one_hot_positions",
    "output_names",
    "padding_mask",
    "padding_share",
    "pattern_shares",
    "patterns_by_layer",
    "position_similarity",
    "position_table",
    "possible",
    "previous_token_score",
    "project_heads",
    "read_out",
    "relative_buckets",
    "reliability",
    "renormalise",
    "roles",
    "roles_of_shares",
    "rollout",
    "same_token_score",
    "sentence_of_token",
    "settled_at",
    "share_interval",
    "shift_error",
    "shift_rotation",
    "shuffled_order",
    "sigmoid",
    "similarity_by_distance",
    "sinusoidal_positions",
    "sinusoidal_rates",
    "softmax",
    "stream_places",
    "text_patterns",
    "typical_keys",
    "typical_words",
    "window_mask",
    "word_of_token",
    "words_at",
    "words_of",
]
