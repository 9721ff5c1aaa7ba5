"""Downsampling of large matrices."""

import math

import numpy as np
from numpy.typing import ArrayLike


def strongest_in_blocks(matrix: ArrayLike, most: int) -> tuple[np.ndarray, int]:
    """Return the value of largest magnitude in each block of a matrix, with its sign.

    Args:
        matrix: float (row, column), square; NaN is a gap.
        most: Most rows of the result.

    Returns:
        (blocks, size): float (row, column), at most `most` rows, NaN where a block has only gaps; and the
        rows and columns of a block (the last block may be smaller).

    >>> strongest_in_blocks(np.array([[1, -3, 0], [2, 0, 0], [0, 0, 5]]), 2)[0].tolist()
    [[-3.0, 0.0], [0.0, 5.0]]
    """
    matrix = np.asarray(matrix)
    size = max(math.ceil(len(matrix) / most), 1)
    if size == 1:
        return matrix, 1
    count = math.ceil(len(matrix) / size)
    missing = count * size - len(matrix)
    padded = np.pad(matrix.astype(np.float32), (0, missing), constant_values=np.nan)
    blocks = padded.reshape(count, size, count, size).swapaxes(1, 2).reshape(count, count, -1)
    strongest = np.where(np.isnan(blocks), -1, np.abs(blocks)).argmax(axis=-1)
    return np.take_along_axis(blocks, strongest[..., None], axis=-1)[..., 0], size


def block_means(values: ArrayLike, block: int) -> np.ndarray:
    """Return the mean of each block of a matrix, without gaps.

    Args:
        values: float (query, key), NaN = gap.
        block: Rows and columns of a block; those at the end may be smaller.

    Returns:
        float32 (ceil(query / block), ceil(key / block)); NaN where a block has only gaps.
    """
    values = np.asarray(values, np.float32)
    here = np.isfinite(values)
    total, count = np.where(here, values, 0), here.astype(np.float32)
    for axis, size in enumerate(values.shape):
        starts = np.arange(0, size, block)
        total = np.add.reduceat(total, starts, axis=axis)
        count = np.add.reduceat(count, starts, axis=axis)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
