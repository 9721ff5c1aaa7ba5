"""Scores of single heads, from their attention weights alone."""

import numpy as np
from numpy.typing import ArrayLike


def entropy(weights: ArrayLike) -> np.ndarray:
    """Return how spread out attention is: the mean entropy of the rows of each head.

    A row that may attend to nothing has no entropy and is left out.

    Args:
        weights: float (..., query, key), rows summing to 1 or 0.

    Returns:
        float (...), in nats: 0 for one key, log(keys) for all alike; NaN where no row attends.
    """
    weights = np.asarray(weights, dtype=np.float64)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    rows = -(weights * logs).sum(axis=-1)
    attends = weights.any(axis=-1)
    count = attends.sum(axis=-1)
    total = (rows * attends).sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def distance(weights: ArrayLike) -> np.ndarray:
    """Return how far each head looks: the mean distance in tokens, weighted by attention.

    Args:
        weights: float (..., query, key) of self-attention, rows summing to 1 or 0.

    Returns:
        float (...), at least 0; NaN where no row attends.
    """
    weights = np.asarray(weights, dtype=np.float64)
    steps = np.abs(np.arange(weights.shape[-2])[:, None] - np.arange(weights.shape[-1])[None, :])
    total = weights.sum(axis=(-2, -1))
    far = (weights * steps).sum(axis=(-2, -1))
    return np.divide(far, total, out=np.full(total.shape, np.nan), where=total > 0)


def previous_token_score(weights: ArrayLike) -> np.ndarray:
    """Return how much each head reads the token before: the mean weight there, from the second token on.

    Args:
        weights: float (..., query, key) of self-attention, at least two tokens.

    Returns:
        float (...), from 0 to 1.
    """
    return np.diagonal(weights, offset=-1, axis1=-2, axis2=-1).mean(axis=-1)


def induction_score(weights: ArrayLike, token_ids: ArrayLike) -> np.ndarray:
    """Return how much each head reads what came after the last time (Olsson et al., 2022, "prefix matching").

    At a token that stood there before, an induction head reads the token that followed it then. The score is
    the mean weight on those, over all tokens that stood there before.

    Args:
        weights: float (..., query, key) of causal self-attention.
        token_ids: int (position,).

    Returns:
        float (...), from 0 to 1; NaN if no token comes twice.
    """
    weights, token_ids = np.asarray(weights), np.asarray(token_ids)
    same = token_ids[:, None] == token_ids[None, :]
    followed = np.zeros_like(same)
    followed[:, 1:] = np.tril(same, -1)[:, :-1]
    rows = followed.any(axis=-1)
    if not rows.any():
        return np.full(weights.shape[:-2], np.nan)
    return (weights * followed).sum(axis=-1)[..., rows].mean(axis=-1)
