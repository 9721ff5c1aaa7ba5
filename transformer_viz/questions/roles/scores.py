"""Scores of heads, computed from their attention weights."""

import numpy as np
from numpy.typing import ArrayLike


def divided(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return one array divided by another, NaN where that is not above 0."""
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def entropy(weights: ArrayLike) -> np.ndarray:
    """Return the mean entropy of the rows of each head; fully masked rows are left out.

    Args:
        weights: float (..., query, key), rows summing to 1 or 0.

    Returns:
        float (...), in nats: 0 for a single key, log(keys) for uniform weights; NaN if all rows are masked.
    """
    weights = np.asarray(weights, dtype=np.float64)
    rows = row_entropy(weights)
    attends = weights.any(axis=-1)
    return divided((rows * attends).sum(axis=-1), attends.sum(axis=-1))


def row_entropy(weights: np.ndarray) -> np.ndarray:
    """Return the entropy of each row in nats: float (..., query), 0 for a row of zeros.

    Args:
        weights: float (..., query, key).
    """
    parts = np.maximum(weights, np.finfo(weights.dtype).tiny)  # finite logarithms: a weight of 0 cancels them
    np.log(parts, out=parts)
    parts *= weights
    return -parts.sum(axis=-1)


def distance(weights: ArrayLike) -> np.ndarray:
    """Return the mean distance in tokens between query and key of each head, weighted by attention.

    Args:
        weights: float (..., query, key) of self-attention, rows summing to 1 or 0.

    Returns:
        float (...), at least 0; NaN if all rows are masked.
    """
    weights = np.asarray(weights, dtype=np.float64)
    steps = np.abs(np.arange(weights.shape[-2])[:, None] - np.arange(weights.shape[-1])[None, :])
    return divided((weights * steps).sum(axis=(-2, -1)), weights.sum(axis=(-2, -1)))


def previous_token_score(weights: ArrayLike, mask: ArrayLike = True) -> np.ndarray:
    """Return the mean weight of each head on the previous token, from the second token on.

    Args:
        weights: float (..., query, key) of self-attention, at least two tokens.
        mask: bool, broadcast to the shape of the weights: tokens that may not attend to the previous one are
            left out.

    Returns:
        float (...), from 0 to 1; NaN if all are left out.
    """
    able = np.diagonal(np.broadcast_to(mask, np.shape(weights)), offset=-1, axis1=-2, axis2=-1)
    found = np.diagonal(weights, offset=-1, axis1=-2, axis2=-1)
    return divided((found * able).sum(axis=-1), able.sum(axis=-1))


def induction_score(weights: ArrayLike, token_ids: ArrayLike) -> np.ndarray:
    """Return the prefix-matching score of each head (Olsson et al., 2022).

    At a repeated token, an induction head attends to the tokens that followed its previous occurrences. The
    score is the weight on those, averaged over all repeated tokens.

    Args:
        weights: float (..., query, key) of causal self-attention.
        token_ids: int (position,).

    Returns:
        float (...), from 0 to 1; NaN if no token is repeated.
    """
    token_ids = np.asarray(token_ids)
    return _mean_of_rows(weights, induction_cells(token_ids[:, None] == token_ids[None, :]))


def same_token_score(weights: ArrayLike, token_ids: ArrayLike) -> np.ndarray:
    """Return the weight of each head on earlier occurrences of the token, averaged over repeated tokens.

    Heads that have it are duplicate token heads (Wang et al., 2023).

    Args:
        weights: float (..., query, key) of causal self-attention.
        token_ids: int (position,).

    Returns:
        float (...), from 0 to 1; NaN if no token is repeated.
    """
    token_ids = np.asarray(token_ids)
    return _mean_of_rows(weights, np.tril(token_ids[:, None] == token_ids[None, :], -1))


def _mean_of_rows(weights, cells):
    """Return the weight on cells, bool (query, key), averaged over rows that have one; NaN without any."""
    weights, rows = np.asarray(weights), cells.any(axis=-1)
    if not rows.any():
        return np.full(weights.shape[:-2], np.nan)
    return (weights * cells).sum(axis=-1)[..., rows].mean(axis=-1)


def induction_cells(same: np.ndarray) -> np.ndarray:
    """Return which keys follow an earlier occurrence of the query's token: bool (query, key).

    Args:
        same: bool (query, key), whether both are the same token.
    """
    cells = np.zeros_like(same)
    cells[:, 1:] = np.tril(same, -1)[:, :-1]
    return cells
