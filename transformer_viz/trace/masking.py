"""Effects of a mask on a head: the share of its weight on padding and on later tokens, rows without any."""

import numpy as np
from numpy.typing import ArrayLike


def padding_share(weights: ArrayLike, query_is_padding: ArrayLike, key_is_padding: ArrayLike) -> float:
    """Return the share of the real tokens' attention on padding.

    Args:
        weights: float (query, key).
        query_is_padding: bool (query,).
        key_is_padding: bool (key,).

    Returns:
        float from 0 to 1; 0 if all rows are masked.
    """
    real = np.asarray(weights, np.float64)[~np.asarray(query_is_padding)]
    return _share(real, np.broadcast_to(key_is_padding, real.shape))


def future_share(weights: ArrayLike) -> float:
    """Return the share of attention on future tokens: key > query.

    Args:
        weights: float (query, key) of self-attention.

    Returns:
        float from 0 to 1; 0 if all rows are masked.
    """
    weights = np.asarray(weights, np.float64)
    return _share(weights, ~np.tri(*weights.shape, dtype=bool))


def blocked_rows(mask: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return which rows are fully masked.

    Args:
        mask: bool, broadcastable to `shape`, True = may attend.
        shape: (query, key).

    Returns:
        int (row,), in order.
    """
    return np.flatnonzero(~np.broadcast_to(mask, shape).any(axis=-1))


def _share(weights, where):
    total = weights.sum()
    return float(weights[where].sum() / total) if total > 0 else 0.0
