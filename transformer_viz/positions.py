"""Position tables that are computed, not learned: one row for each position, to be added to the token."""

import numpy as np
from keras import ops


def one_hot_positions(positions, d_model):
    """Return a vector for each position that is 1 in the position's own dimension and 0 elsewhere.

    Args:
        positions: int (..., position), each in [0, d_model).
        d_model: Number of columns.

    Returns:
        float32 (..., position, d_model).
    """
    return ops.one_hot(positions, d_model, dtype="float32")


def sinusoidal_positions(positions, d_model, *, halves=False, max_wavelength=10_000.0):
    """Return the sinusoidal encoding of integer positions.

    PE[p, 2i] = sin(p / max_wavelength**(2i / d_model)); PE[p, 2i + 1] is its cosine
    (Vaswani et al., 2017, section 3.5).

    Args:
        positions: int (..., position), 0-based; any integers, not only consecutive ones.
        d_model: Number of columns; even.
        halves: False: sine and cosine columns alternate, as in the paper. True: all sines, then all
            cosines, as in tensor2tensor, with its spacing of the wavelengths: the last one is
            `max_wavelength` itself.
        max_wavelength: Longest wavelength in tokens, divided by 2 pi.

    Returns:
        float32 (..., position, d_model) in [-1, 1].

    Raises:
        ValueError: If `d_model` is odd.

    >>> sinusoidal_positions(np.array([0]), 4)[0].numpy().tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    if d_model % 2:
        raise ValueError(f"Sine and cosine come in pairs: `d_model` must be even. Received: {d_model}.")
    steps = max(d_model // 2 - 1, 1) if halves else d_model / 2
    rates = (max_wavelength ** (-np.arange(d_model // 2) / steps)).astype("float32")
    angles = ops.cast(positions, "float32")[..., None] * rates
    pair = [ops.sin(angles), ops.cos(angles)]
    if halves:
        return ops.concatenate(pair, axis=-1)
    return ops.reshape(ops.stack(pair, axis=-1), (*ops.shape(angles)[:-1], d_model))


def position_table(kind, length, d_model):
    """Return the table of one computed kind of positions.

    Args:
        kind: "none" (zeros), "one-hot", "sinusoidal" or "sinusoidal-halves".
        length: Number of rows.
        d_model: Number of columns.

    Returns:
        float32 (length, d_model).

    Raises:
        ValueError: If the kind cannot be computed, or has no dimension left for a position.
    """
    positions = ops.arange(length)
    if kind == "none":
        return ops.zeros((length, d_model), dtype="float32")
    if kind == "one-hot":
        if length > d_model:
            raise ValueError(
                f"`positions` = 'one-hot' needs `d_model` >= `max_len`: {d_model} is less than {length}."
            )
        return one_hot_positions(positions, d_model)
    if kind in ("sinusoidal", "sinusoidal-halves"):
        return sinusoidal_positions(positions, d_model, halves=kind == "sinusoidal-halves")
    raise ValueError(
        f"`positions` must be 'none', 'one-hot', 'sinusoidal' or 'sinusoidal-halves' here. "
        f"Received: {kind!r}; a learned table belongs to its model."
    )
