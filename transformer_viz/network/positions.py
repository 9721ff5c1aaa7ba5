"""Position encodings: computed tables, the rotation for a shift, and similarity of positions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig

MAX_WAVELENGTH = 10_000.0
"""Longest wavelength in tokens, divided by 2 pi (Vaswani et al., 2017, section 3.5)."""

ROUNDING = 1e-9
"""Added before a number of buckets is rounded down: a whole one must not become the one below it."""


def own_position_ids(
    config: TransformerConfig, token_ids: Any, index: Any, where: Callable[..., Any] = np.where
) -> Any:
    """Return the row of a model's position table for each token.

    Args:
        config: `TransformerConfig`.
        token_ids: int (batch, position), an array or a tensor of any backend.
        index: `arange` of the positions.
        where: `where` of the backend.

    Returns:
        int (batch or 1, position).
    """
    if not config.padding_position:
        return index[None]
    return where(token_ids != config.pad_id, index[None] + 1, 0)


def one_hot_positions(positions: ArrayLike, d_model: int) -> np.ndarray:
    """Return one-hot encodings of positions.

    Args:
        positions: int (..., position); those outside [0, d_model) are all 0.
        d_model: Number of columns.

    Returns:
        float32 (..., position, d_model).
    """
    return (np.asarray(positions)[..., None] == np.arange(d_model)).astype(np.float32)


def sinusoidal_rates(
    d_model: int, *, halves: bool = False, max_wavelength: float = MAX_WAVELENGTH
) -> np.ndarray:
    """Return the angle per position of each pair of sine and cosine.

    Args:
        d_model: Number of columns; even.
        halves: As in `sinusoidal_positions`.
        max_wavelength: Longest wavelength in tokens, divided by 2 pi.

    Returns:
        float64 (d_model / 2) radians, decreasing from 1.

    Raises:
        ValueError: If `d_model` is odd.
    """
    if d_model % 2:
        raise ValueError(f"Sine and cosine come in pairs: `d_model` must be even. Received: {d_model}.")
    steps = max(d_model // 2 - 1, 1) if halves else d_model / 2
    return max_wavelength ** (-np.arange(d_model // 2) / steps)


def sinusoidal_positions(
    positions: ArrayLike,
    d_model: int,
    *,
    halves: bool = False,
    max_wavelength: float = MAX_WAVELENGTH,
    dtype: str = "float32",
) -> np.ndarray:
    """Return the sinusoidal encoding of integer positions.

    PE[p, 2i] = sin(p / max_wavelength**(2i / d_model)); PE[p, 2i + 1] is its cosine
    (Vaswani et al., 2017, section 3.5).

    Args:
        positions: int (..., position), 0-based; any integers, not only consecutive ones.
        d_model: Number of columns; even.
        halves: False: sine and cosine columns alternate, as in the paper. True: all sines, then all
            cosines, as in tensor2tensor, whose last wavelength is `max_wavelength` itself.
        max_wavelength: Longest wavelength in tokens, divided by 2 pi.
        dtype: "float32", as in the models, or "float64".

    Returns:
        `dtype` (..., position, d_model) in [-1, 1].

    Raises:
        ValueError: If `d_model` is odd.

    >>> sinusoidal_positions([0], 4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    rates = sinusoidal_rates(d_model, halves=halves, max_wavelength=max_wavelength).astype(dtype)
    angles = np.asarray(positions).astype(dtype)[..., None] * rates
    pair = [np.sin(angles), np.cos(angles)]
    if halves:
        return np.concatenate(pair, axis=-1)
    return np.stack(pair, axis=-1).reshape(*angles.shape[:-1], d_model)


def position_table(kind: str, length: int, d_model: int) -> np.ndarray:
    """Return the table of a computed position encoding, to be added to the token embeddings.

    Args:
        kind: "none" (zeros), "one-hot", "sinusoidal" or "sinusoidal-halves".
        length: Number of rows.
        d_model: Number of columns.

    Returns:
        float32 (length, d_model).

    Raises:
        ValueError: If the kind cannot be computed, or one-hot positions exceed `d_model`.
    """
    positions = np.arange(length)
    if kind == "none":
        return np.zeros((length, d_model), dtype=np.float32)
    if kind == "one-hot":
        if length > d_model:
            raise Problem("positions.one_hot", width=d_model, length=length)
        return one_hot_positions(positions, d_model)
    if kind in ("sinusoidal", "sinusoidal-halves"):
        return sinusoidal_positions(positions, d_model, halves=kind == "sinusoidal-halves")
    raise ValueError(
        f"`positions` must be 'none', 'one-hot', 'sinusoidal' or 'sinusoidal-halves' here. "
        f"Received: {kind!r}; a learned table belongs to its model."
    )


def shift_rotation(
    k: int, d_model: int, *, halves: bool = False, max_wavelength: float = MAX_WAVELENGTH
) -> np.ndarray:
    """Return the matrix that maps the encoding of any position to that of the position `k` later.

    "For any fixed offset k, PE[pos + k] can be represented as a linear function of PE[pos]" (Vaswani et al.,
    2017, section 3.5): each pair of sine and cosine is rotated by k times its rate, for all positions. With
    a = k * rate, sin(x + a) = cos(a) sin(x) + sin(a) cos(x) and cos(x + a) = -sin(a) sin(x) + cos(a) cos(x).

    Args:
        k: Offset in positions; any integer.
        d_model: Width of the encoding; even.
        halves: As in `sinusoidal_positions`.
        max_wavelength: The same.

    Returns:
        float64 (d_model, d_model), orthogonal: PE[p + k] = matrix @ PE[p].

    Raises:
        ValueError: If `d_model` is odd.

    >>> shift_rotation(0, 4).tolist() == np.eye(4).tolist()
    True
    """
    angles = k * sinusoidal_rates(d_model, halves=halves, max_wavelength=max_wavelength)
    pairs = np.arange(d_model // 2)
    sine, cosine = (pairs, pairs + d_model // 2) if halves else (2 * pairs, 2 * pairs + 1)
    matrix = np.zeros((d_model, d_model))
    matrix[sine, sine] = matrix[cosine, cosine] = np.cos(angles)
    matrix[sine, cosine] = np.sin(angles)
    matrix[cosine, sine] = -np.sin(angles)
    return matrix


def shift_error(k: int, length: int, d_model: int, *, halves: bool = False) -> float:
    """Return the largest error of `shift_rotation`, in float64.

    Args:
        k: Offset in positions.
        length: Number of shifted positions, from 0.
        d_model: Width of the encoding; even.
        halves: As in `sinusoidal_positions`.

    Returns:
        Largest absolute difference between PE[p + k] and matrix @ PE[p], over all p and dimensions.
    """
    positions = np.arange(length)
    before, after = (
        sinusoidal_positions(positions + shift, d_model, halves=halves, dtype="float64") for shift in (0, k)
    )
    return float(np.abs(before @ shift_rotation(k, d_model, halves=halves).T - after).max())


def position_similarity(table: ArrayLike, *, cosine: bool = False) -> np.ndarray:
    """Return the similarity of all pairs of rows of a table.

    Args:
        table: float (position, d_model).
        cosine: True: cosine similarity, 0 for rows of zeros. False: dot product.

    Returns:
        float64 (position, position), symmetric; in [-1, 1] for `cosine`.
    """
    table = np.asarray(table, dtype=np.float64)
    if cosine:
        lengths = np.linalg.norm(table, axis=-1, keepdims=True)
        table = np.divide(table, lengths, out=np.zeros_like(table), where=lengths > 0)
    return table @ table.T


def similarity_by_distance(similarity: ArrayLike) -> np.ndarray:
    """Return the mean similarity of positions by distance.

    Args:
        similarity: float (position, position), symmetric.

    Returns:
        float64 (position): entry d is the mean over all pairs at distance d.
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    return np.array([np.diagonal(similarity, distance).mean() for distance in range(len(similarity))])


def relative_buckets(buckets: int, reach: int, *, causal: bool) -> np.ndarray:
    """Return the bucket of each distance from query to key (Raffel et al., 2020, section 2.1).

    Half of the buckets hold one distance each, the others ever more of them, in logarithmic steps. Unless
    the attention is causal, half of all buckets are for keys after the query.

    Args:
        buckets: Number of buckets, at least 4.
        reach: Distance from which on all are in the last bucket.
        causal: Whether keys after the query are masked; they are in bucket 0 then.

    Returns:
        int64 (2 * reach + 1,), of key - query = -reach, ..., reach.
    """
    offsets = np.arange(-reach, reach + 1)
    after = np.zeros_like(offsets) if causal else (offsets > 0) * (buckets // 2)
    count = buckets if causal else buckets // 2
    distance = np.maximum(-offsets, 0) if causal else np.abs(offsets)
    single = count // 2
    steps = np.log(np.maximum(distance, single) / single) / np.log(reach / single) * (count - single)
    far = single + (steps + ROUNDING).astype(int)
    return after + np.where(distance < single, distance, np.minimum(far, count - 1))
