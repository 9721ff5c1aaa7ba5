"""Matrices in eight bits: whole numbers and, for each row, the size of one step.

Quantisation by the largest absolute value (Dettmers et al., 2022, section 2.1), with a constant for each row:
for each token or position of an embedding, and each input of a kernel. A constant for each output of a kernel
instead, as in their section 3.1, changed attention and predictions of six models as much.
"""

import numpy as np

SCALE = ".scale"
"""What follows a matrix's name in the name of its steps; no parameter has a dot in its name."""


def quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix of whole numbers, and the step of each row.

    A step s is the largest absolute value of the row divided by 127, rounded up to 16 binary digits: no value
    changes by more than s / 2, about 1/254 of that largest value. The products of s and these numbers are
    exact in float32, so a matrix that was restored is quantised to the same numbers and steps again.

    Args:
        matrix: Finite floats (row, column).

    Returns:
        int8 (row, column) from -127 to 127, and float32 (row), above 0; infinite if the row is too large.
    """
    fraction, exponent = np.frexp(np.abs(matrix).max(axis=1).astype(np.float64) / 127)
    with np.errstate(over="ignore"):
        scale = np.ldexp(np.ceil(fraction * 2**16), exponent - 16).astype(np.float32)
    scale = np.maximum(scale, np.finfo(np.float32).tiny)
    return np.rint(matrix / scale[:, None]).astype(np.int8, order="C"), scale


def restore(numbers: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the float32 matrix of the result of `quantise`."""
    return numbers * scale[:, None]
