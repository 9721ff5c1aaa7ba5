"""Permutations of tokens, and matrices of permuted tokens back in the original order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def shuffled_order(length: int, seed: int, *, fixed: int = 0) -> tuple[int, ...]:
    """Return a random permutation of the tokens.

    Args:
        length: Number of tokens.
        seed: Random seed, at least 0.
        fixed: Number of tokens at the beginning that stay in place, such as [START].

    Returns:
        The tokens' indices in the new order; not the identity, unless fewer than two tokens can move.
    """
    order = np.arange(length)
    if length - fixed < 2:
        return tuple(order.tolist())
    random = np.random.default_rng(seed)
    while (order == np.arange(length)).all():
        order[fixed:] = fixed + random.permutation(length - fixed)
    return tuple(order.tolist())


def in_original_order(matrix: ArrayLike, order: Sequence[int]) -> np.ndarray:
    """Return a matrix of permuted tokens with rows and columns in the original order of the tokens.

    Args:
        matrix: (..., position, position); row and column i belong to token `order[i]`.
        order: The tokens' indices in the new order.

    Returns:
        The same shape: row and column i belong to token i.
    """
    back = np.argsort(order)
    return np.asarray(matrix)[..., back[:, None], back]
