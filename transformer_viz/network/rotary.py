"""Rotary position embedding: queries and keys turn with their positions."""

from typing import Any

import keras

from transformer_viz.network.tensors import Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


def rotation(
    position_ids: Tensor, width: int, base: float, scaling: tuple[float, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines for positions (Su et al., 2021, section 3.2.2).

    The pair i of numbers turns by position * base^(-2i / width) / stretch_i.

    Args:
        position_ids: int (batch or 1, position).
        width: Numbers of a head that turn.
        base: Base of the wavelengths.
        scaling: `TransformerConfig.rotary_scaling`, (width / 2), or () for none.

    Returns:
        Two of float32 (batch or 1, 1, position, width / 2).
    """
    speed = base ** (-ops.arange(0, width, 2, dtype="float32") / width)
    if scaling:
        speed = speed / ops.convert_to_tensor(scaling, dtype="float32")
    angle = ops.cast(position_ids, "float32")[:, None, :, None] * speed
    return ops.cos(angle), ops.sin(angle)
