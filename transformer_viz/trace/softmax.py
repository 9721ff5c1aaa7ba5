"""The softmax and the sigmoid, in NumPy, and the logits that they are given."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.network.config import TransformerConfig


def softmax(scores: ArrayLike, temperature: float = 1.0) -> np.ndarray:
    """Return exp(scores / temperature) divided by its sum over the last axis: float32, same shape.

    Args:
        scores: float (..., label), finite.
        temperature: Above 0; 1 changes nothing (Hinton et al., 2015, eq. 1).
    """
    scores = np.asarray(scores, np.float32)
    powers = np.exp((scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)) / np.float32(temperature))
    return powers / powers.sum(axis=-1, keepdims=True)


def sigmoid(log_odds: ArrayLike) -> np.ndarray:
    """Return 1 / (1 + exp(-log_odds)), the probability of these log-odds: float64, without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(log_odds, np.float64)))


def label_logits(config: TransformerConfig, logits: np.ndarray) -> np.ndarray:
    """Return one logit per label, on the last axis; the sigmoid of z is the softmax of (0, z)."""
    if config.output == "sigmoid":
        return np.concatenate([np.zeros_like(logits), logits], axis=-1)
    return logits
