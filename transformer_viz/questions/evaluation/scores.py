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


def label_scores(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return precision, recall, f1 and rows of each label, all (label,).

    Args:
        counts: int (true, predicted), as `confusion` returns them. The precision of a label that was never
            predicted is 0, and so is the recall of one that no row has.
    """
    right, rows, chosen = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    return {
        "precision": right / np.maximum(chosen, 1),
        "recall": right / np.maximum(rows, 1),
        "f1": 2 * right / np.maximum(rows + chosen, 1),
        "rows": rows,
    }
