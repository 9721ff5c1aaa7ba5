"""Effects of a mask on a head: scores, weights, and the share on padding or future tokens."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.analysis.softmax import softmax

LARGE_NEGATIVE = -1e9
"""Number added to masked scores by additive masks, as in most tutorials."""


def masked_scores(scores: ArrayLike, mask: ArrayLike) -> np.ndarray:
    """Return the scores with NaN where masked.

    Args:
        scores: float (..., query, key).
        mask: bool, broadcastable to them, True = may attend.

    Returns:
        float32 (..., query, key).
    """
    return np.where(mask, np.asarray(scores, np.float32), np.float32("nan"))


def masked_weights(scores: ArrayLike, mask: ArrayLike) -> np.ndarray:
    """Return softmax(scores) over unmasked keys, as the layers compute it.

    Args:
        scores: float (..., query, key), query·key / √head_dim.
        mask: bool, broadcastable to them, True = may attend.

    Returns:
        float32 (..., query, key); 0 where masked; a row sums to 1, or to 0 if fully masked.
    """
    return np.where(mask, softmax(np.where(mask, scores, LARGE_NEGATIVE)), np.float32(0))


def added_mask_weights(scores: ArrayLike, mask: ArrayLike) -> np.ndarray:
    """Return softmax(scores + large negative number where masked), common in tutorials.

    The same number added to all scores of a row leaves its softmax as it is: a fully masked row keeps its
    weights, but for rounding. Near 10^9, float32 has only every 64th number, so scores up to 32 become equal.

    Args:
        scores: float (..., query, key).
        mask: bool, broadcastable to them, True = may attend.

    Returns:
        float32 (..., query, key), rows summing to 1.
    """
    bias = np.where(mask, np.float32(0), np.float32(LARGE_NEGATIVE))
    return softmax(np.asarray(scores, np.float32) + bias)


def multiplied_mask_weights(scores: ArrayLike, mask: ArrayLike) -> np.ndarray:
    """Return softmax(scores) · mask, another form in tutorials.

    The weight of masked keys is lost, not redistributed.

    Args:
        scores: float (..., query, key).
        mask: bool, broadcastable to them, True = may attend.

    Returns:
        float32 (..., query, key), rows summing to at most 1.
    """
    return softmax(np.asarray(scores, np.float32)) * np.asarray(mask, np.float32)


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
