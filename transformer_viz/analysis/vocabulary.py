"""Attention between the words of a vocabulary, where it is the same in every text."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_viz.analysis.normalisation import normalised
from transformer_viz.analysis.softmax import softmax
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.shapes import reads_normalised


def has_fixed_scores(config: TransformerConfig) -> bool:
    """Return whether the score of two words in the first layer is the same in every text.

    Without position encodings its queries and keys follow from the two tokens alone.
    """
    knows_none = config.positions == "none" and not config.has_relative_bias
    return knows_none and not config.projects_embeddings


def vocabulary_weights(
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    keys: Sequence[int],
    queries: Sequence[int],
) -> np.ndarray:
    """Return how much weight tokens get in the first layer, compared with an average one of them.

    Each query attends to all keys once. A token that gets 3 then gets three times an even share, and two
    tokens of a text get weights in the proportion of these numbers, whatever else stands there.

    Args:
        parameters: Name -> array of a model whose scores are fixed.
        config: Its config.
        keys: Token ids to compare.
        queries: Token ids that attend.

    Returns:
        float32 (head, query, key), with mean 1 over the keys.
    """
    stack = "encoder" if config.has_encoder else "decoder"
    own = "attention" if config.has_encoder else "self_attention"
    layer = f"{stack}_0/{own}"

    def projected(name, token_ids):
        x = parameters["token_embedding/embeddings"][list(token_ids)]
        if config.scale_embedding:
            x = x * config.d_model**0.5
        if reads_normalised(config, own, 0):
            x = normalised(x, config, parameters, f"{layer}_norm")
        x = x @ parameters[f"{layer}/{name}/kernel"] + parameters.get(f"{layer}/{name}/bias", 0)
        return np.swapaxes(x.reshape(len(x), config.num_heads, -1), 0, 1)

    query, key = projected("query", queries), projected("key", keys)
    scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1] ** 0.5
    if config.score_cap is not None:
        scores = config.score_cap * np.tanh(scores / config.score_cap)
    return softmax(scores) * len(keys)
