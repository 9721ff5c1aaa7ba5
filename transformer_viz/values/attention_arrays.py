"""Attention weights that another program computed, read from the arrays of any framework."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.values.tensors import Attentions, AttentionTrace

TOLERANCE = 0.02
"""Largest deviation of the sum of a row from 1; bfloat16 has two to three decimal digits."""


def read_attention(
    layers: Any, query_tokens: Sequence[str], key_tokens: Sequence[str], *, is_self: bool = True
) -> Attentions:
    """Return attention weights from the arrays of NumPy, PyTorch, TensorFlow or JAX.

    Keys that no query attends to are masked, as padding is. If no query attends to a later key, all later
    keys are masked, as in a decoder.

    Args:
        layers: One array for each layer, as `transformers` returns them with `output_attentions=True`: floats
            (head, query, key), also with a batch axis of 1 in front; or one array of all layers, or a
            mapping from names to those of the layers. Rows sum to 1, or to 0 if all keys are masked.
        query_tokens: Texts of the rows.
        key_tokens: Texts of the columns.
        is_self: Whether queries and keys are the same tokens.

    Raises:
        ValueError: If the arrays are no attention weights, or do not fit the tokens.
    """
    if isinstance(query_tokens, str) or isinstance(key_tokens, str):
        raise Problem("arrays.text")
    queries, keys = (tuple(map(str, tokens)) for tokens in (query_tokens, key_tokens))
    each = layers.values() if isinstance(layers, Mapping) else layers
    read = [_weights(layer, number) for number, layer in enumerate(each)]
    if not read:
        raise Problem("arrays.none")
    for number, weights in enumerate(read):
        if weights.shape != read[0].shape:
            raise Problem(
                "arrays.differ", layer=number, found=str(weights.shape), expected=str(read[0].shape)
            )
    if read[0].shape[1:] != (len(queries), len(keys)):
        raise Problem("arrays.tokens", found=str(read[0].shape[1:]), expected=str((len(queries), len(keys))))
    stacked = np.stack(read)
    sums = stacked.sum(axis=-1)
    fits = (np.abs(sums - 1) <= TOLERANCE) | (sums == 0)
    if not fits.all() or (stacked < 0).any():
        layer, head, query = np.argwhere(~fits if not fits.all() else (stacked < 0).any(axis=-1))[0].tolist()
        raise Problem(
            "arrays.sum", layer=layer, head=head, query=query, sum=f"{sums[layer, head, query]:.3g}"
        )
    read_by_any = (stacked > 0).any(axis=(0, 1, 2))
    mask = np.broadcast_to(read_by_any, (len(queries), len(keys)))
    if is_self and is_causal(read):
        mask = mask & np.tri(len(queries), dtype=bool)
    traces = [AttentionTrace(None, None, None, None, weights, None, None) for weights in read]
    return Attentions(traces, mask[None], queries, keys)


def is_causal(layers: Sequence[np.ndarray]) -> bool:
    """Return whether no query attends to a later key; one token alone tells nothing.

    Args:
        layers: The weights of each layer: float (head, query, key).
    """
    return layers[0].shape[-2] > 1 and not any(np.triu(weights, 1).any() for weights in layers)


def _weights(layer, number):
    """Return the weights of one layer: float32 (head, query, key)."""
    if layer is None:
        raise Problem("arrays.layer_none", layer=number)
    if hasattr(layer, "detach"):  # PyTorch: NumPy reads neither gradients, nor GPUs, nor bfloat16
        layer = layer.detach().cpu().float()
    try:
        weights = np.asarray(layer).astype(np.float32)
    except (TypeError, ValueError):
        raise Problem("arrays.numbers", layer=number) from None
    if weights.ndim == 4:
        if len(weights) != 1:
            raise Problem("arrays.batch", layer=number, count=len(weights))
        weights = weights[0]
    if weights.ndim != 3 or not weights.size:
        raise Problem("arrays.shape", layer=number, found=str(weights.shape))
    if not np.isfinite(weights).all():
        raise Problem("arrays.numbers", layer=number)
    return weights
