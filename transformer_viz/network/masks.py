"""Attention masks: bool, True = may attend, broadcastable to (batch, head, query, key), merged with `&`."""

from typing import Any

import keras

from transformer_viz.network.config import PAD_ID
from transformer_viz.network.tensors import Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


def padding_mask(token_ids: Tensor, pad_id: int = PAD_ID) -> Tensor:
    """Return the padding mask: every token but [PAD] may be attended to.

    Args:
        token_ids: int (batch, position).
        pad_id: Id of [PAD].

    Returns:
        bool (batch, 1, 1, key).

    >>> padding_mask(ops.array([[5, 2, 0]]))[0, 0, 0].numpy().tolist()
    [True, True, False]
    """
    return ops.not_equal(token_ids, pad_id)[:, None, None, :]


def causal_mask(length: int | Tensor, first: int | Tensor = 0) -> Tensor:
    """Return the causal mask: a position attends to itself and earlier positions (section 3.2.3).

    Args:
        length: Number of positions; an int or a scalar tensor.
        first: First position that is a query.

    Returns:
        bool (1, 1, query, key).
    """
    index = ops.arange(length)
    return (index[None, :] <= index[first:, None])[None, None]


def window_mask(length: int | Tensor, reach: int, first: int | Tensor = 0) -> Tensor:
    """Return the window mask: a position attends to those at most `reach` away, on both sides.

    Args:
        length: Number of positions; an int or a scalar tensor.
        reach: Largest distance; 0: each position attends only to itself.
        first: First position that is a query.

    Returns:
        bool (1, 1, query, key).
    """
    index = ops.arange(length)
    return (ops.abs(index[None, :] - index[first:, None]) <= reach)[None, None]
