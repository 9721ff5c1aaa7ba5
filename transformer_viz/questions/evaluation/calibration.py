"""Calibration of classifiers: whether predictions with a probability of 90% are right in 90% of cases."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.network.checks import TEMPERATURES
from transformer_viz.trace.softmax import softmax

BINS = 15
"""Bins of the calibration error, of equal width, as in the paper."""

HALVINGS = 60
"""Steps of the search for the temperature: its interval ends far below rounding."""


class Calibration(NamedTuple):
    """How well the probabilities of a classifier agree with its accuracy on some rows.

    Attributes:
        error: Calibration error at the temperature in use, see `calibration_error`.
        best_temperature: See `best_temperature`.
        best_error: Calibration error at that temperature; None without one.
    """

    error: float
    best_temperature: float | None
    best_error: float | None


def calibration(logits: ArrayLike, labels: ArrayLike, temperature: float = 1.0) -> Calibration:
    """Return the calibration of softmax(logits / temperature).

    Args:
        logits: float (row, label).
        labels: int (row,), the true ones.
        temperature: The temperature in use.
    """
    best = best_temperature(logits, labels)
    best_error = None if best is None else calibration_error(softmax(logits, best), labels)
    return Calibration(calibration_error(softmax(logits, temperature), labels), best, best_error)


def calibration_error(probs: ArrayLike, labels: ArrayLike, bins: int = BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017, section 2, eq. 3).

    Rows are put into bins ((m - 1) / bins, m / bins] by their confidence, the probability of the predicted
    label. The error is the mean over rows of |accuracy - mean confidence| of their bin.

    Args:
        probs: float (row, label), rows summing to 1.
        labels: int (row,), the true ones.
        bins: Number of bins.

    Returns:
        A float from 0 (calibrated) to 1; 0 without rows.
    """
    found = reliability(probs, labels, bins)
    gaps = np.abs(found.accuracy - found.confidence) * found.rows
    return float(gaps.sum() / max(found.rows.sum(), 1))


class Reliability(NamedTuple):
    """How sure a classifier is in each bin, and how often it is right there; bins without rows left out.

    Attributes:
        confidence: Mean probability of the predicted label: float (bin,).
        accuracy: Share of right predictions: float (bin,).
        rows: Number of rows: int (bin,).
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray


def reliability(probs: ArrayLike, labels: ArrayLike, bins: int = BINS) -> Reliability:
    """Return what a reliability diagram shows; arguments as for `calibration_error`."""
    probs, labels = np.asarray(probs, np.float64), np.asarray(labels)
    confidence, right = probs.max(axis=-1), probs.argmax(axis=-1) == labels
    places = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    rows = np.bincount(places, minlength=bins)
    kept = np.flatnonzero(rows)
    sure, often = (np.bincount(places, weights=each, minlength=bins) for each in (confidence, right))
    return Reliability(sure[kept] / rows[kept], often[kept] / rows[kept], rows[kept])


def best_temperature(logits: ArrayLike, labels: ArrayLike) -> float | None:
    """Return the temperature T for which softmax(logits / T) has the least negative log-likelihood.

    This is temperature scaling (Guo et al., 2017, section 4.2). The loss is convex in 1 / T; its derivative,
    the mean over rows of (expected logit - logit of the true label), is bisected.

    Args:
        logits: float (row, label).
        labels: int (row,), the true ones.

    Returns:
        A float within `TEMPERATURES`; None if no row has a wrong prediction, for then no T is the best: the
        lower, the better.
    """
    logits, labels = np.asarray(logits, np.float64), np.asarray(labels)
    own = np.take_along_axis(logits, labels[:, None], axis=-1)
    if (own >= logits.max(axis=-1, keepdims=True, initial=-np.inf)).all():
        return None
    shifted = logits - logits.max(axis=-1, keepdims=True)
    least, most = TEMPERATURES
    for _ in range(HALVINGS):
        middle = np.sqrt(least * most)
        powers = np.exp(shifted / middle)
        expected = (powers * logits).sum(axis=-1, keepdims=True) / powers.sum(axis=-1, keepdims=True)
        if (expected - own).mean() > 0:  # too certain
            least = middle
        else:
            most = middle
    return float(np.sqrt(least * most))
