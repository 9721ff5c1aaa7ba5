"""Activation functions, outside of a model."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float32])


def activated(name: str, x: np.ndarray) -> np.ndarray:
    """Return the result of an activation function.

    Args:
        name: "relu"; "gelu" (Hendrycks and Gimpel, 2016) or "gelu-tanh", its approximation; "silu"; "tanh".
        x: float, of any shape.

    >>> activated("relu", np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if name == "gelu":
        return 0.5 * x * (1 + _erf(x / math.sqrt(2)))
    if name == "gelu-tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if name == "silu":
        return x / (1 + np.exp(-x))
    return np.tanh(x) if name == "tanh" else np.maximum(x, 0)
