"""Matrices of permuted tokens back in the original order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


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
