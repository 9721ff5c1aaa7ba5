"""Layer normalisation, in NumPy."""

import numpy as np

from transformer_viz.values.config import NORM_EPSILON


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return (x - mean) / standard deviation * gamma + beta over the last axis (Ba et al., 2016, eq. 4).

    Args:
        x: float (..., d_model).
        gamma: float (d_model,).
        beta: float (d_model,).
    """
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + NORM_EPSILON) * gamma + beta
