"""Measures of predicted labels against the true ones."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

Z = 1.959964
"""Of a 95 % interval."""


class Interval(NamedTuple):
    """A share with its 95 % interval, all from 0 to 1."""

    share: float
    low: float
    high: float


def share_interval(right: int, rows: int) -> Interval:
    """Return a share with its 95 % score interval (Wilson, 1927).

    Args:
        right: How many rows count.
        rows: All rows, at least 1.
    """
    share = right / rows
    middle = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    half = Z / (1 + Z**2 / rows) * math.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2))
    return Interval(share, middle - half, middle + half)


def confusion(true: ArrayLike, predicted: ArrayLike, labels: int) -> np.ndarray:
    """Return how many rows of each true label were given each label: int (true, predicted).

    Args:
        true: int (row,), numbers of the labels.
        predicted: The same of those predicted.
        labels: Number of labels.
    """
    counts = np.zeros((labels, labels), int)
    np.add.at(counts, (np.asarray(true), np.asarray(predicted)), 1)
    return counts
