"""Tokens in another order: which one, and what was computed put back into the first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def shuffled_order(length: int, seed: int, *, fixed: int = 0) -> tuple[int, ...]:
    """Return another order of the tokens, the same one for the same seed.

    Args:
        length: Number of tokens.
        seed: Whole number from 0.
        fixed: Tokens at the beginning that keep their place, such as [START].

    Returns:
        Tuple of the tokens' indices in the order in which they are to be read; never the order they have,
        unless there are not two to exchange.
    """
    order = np.arange(length)
    if length - fixed < 2:
        return tuple(order.tolist())
    random = np.random.default_rng(seed)
    while (order == np.arange(length)).all():
        order[fixed:] = fixed + random.permutation(length - fixed)
    return tuple(order.tolist())


def in_first_order(matrix: ArrayLike, order: Sequence[int]) -> np.ndarray:
    """Return what was computed of reordered tokens with its rows and columns where the tokens first stood.

    Args:
        matrix: (..., position, position); row and column i belong to token `order[i]`.
        order: Each token's index once.

    Returns:
        The same shape: row and column i belong to token i.
    """
    back = np.argsort(order)
    return np.asarray(matrix)[..., back[:, None], back]
