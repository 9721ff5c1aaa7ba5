"""The relative position bias: a trained number for each distance, added to the scores."""

from typing import Any

import keras

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.positions import relative_buckets
from transformer_viz.network.tensors import Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


def relative_bias(
    config: TransformerConfig, table: Tensor, query_ids: Tensor, key_ids: Tensor, *, causal: bool
) -> Tensor:
    """Return the relative position bias of self-attention (Raffel et al., 2020, section 2.1).

    Args:
        config: `TransformerConfig`.
        table: float (relative_buckets, num_heads).
        query_ids: int (batch or 1, query), their positions.
        key_ids: int (batch or 1, key).
        causal: Whether the stack has a causal mask.

    Returns:
        float (batch or 1, head, query, key).
    """
    reach = config.relative_reach
    buckets = relative_buckets(config.relative_buckets, reach, causal=causal)
    distance = key_ids[:, None, :] - query_ids[:, :, None]
    bias = ops.take(ops.take(table, buckets, axis=0), ops.clip(distance, -reach, reach) + reach, axis=0)
    return ops.transpose(bias, (0, 3, 1, 2))
