"""The softmax, in NumPy."""

import numpy as np
from numpy.typing import ArrayLike


def softmax(scores: ArrayLike) -> np.ndarray:
    """Return exp(scores) divided by its sum over the last axis: float32, shaped like the scores."""
    scores = np.asarray(scores, np.float32)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
