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
            mapping from names to those of the layers, which may have different numbers of heads. Rows sum to
            1, or to 0 if all keys are masked.
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
        found, expected = weights.shape[1:], read[0].shape[1:]
        if found != expected:
            raise Problem("arrays.differ", layer=number, found=str(found), expected=str(expected))
    if read[0].shape[1:] != (len(queries), len(keys)):
        raise Problem("arrays.tokens", found=str(read[0].shape[1:]), expected=str((len(queries), len(keys))))
    for number, weights in enumerate(read):
        _check_sums(weights, number)
    read_by_any = np.any([(weights > 0).any(axis=(0, 1)) for weights in read], axis=0)
    mask = np.broadcast_to(read_by_any, (len(queries), len(keys)))
    if is_self and is_causal(read):
        mask = mask & np.tri(len(queries), dtype=bool)
    traces = [AttentionTrace(None, None, None, None, weights, None, None) for weights in read]
    return Attentions(traces, mask[None, None], queries, keys)


def by_kind(layers: Any, tokens: Sequence[str], target_tokens: Sequence[str]) -> dict[str, list]:
    """Return the layers of an encoder-decoder by the kind of their attention, which their shapes tell.

    Args:
        layers: As for `read_attention`, but of both texts in any order.
        tokens: Texts of the encoder's tokens.
        target_tokens: Texts of the decoder's.

    Returns:
        "encoder", "decoder" or "cross" -> its layers; kinds without layers are left out.

    Raises:
        ValueError: If both texts have as many tokens, or a layer has another shape.
    """
    source, target = len(tokens), len(target_tokens)
    if source == target:
        raise Problem("arrays.alike", count=source)
    sides = {(source, source): "encoder", (target, target): "decoder", (target, source): "cross"}
    found: dict[str, list] = {kind: [] for kind in sides.values()}
    for number, layer in enumerate(layers.values() if isinstance(layers, Mapping) else layers):
        shape = _weights(layer, number).shape[1:]
        if shape not in sides:
            raise Problem(
                "arrays.no_side", layer=number, found=str(shape), expected=", ".join(map(str, sides))
            )
        found[sides[shape]].append(layer)
    return {kind: each for kind, each in found.items() if each}


def is_causal(layers: Sequence[np.ndarray]) -> bool:
    """Return whether no query attends to a later key; one token alone tells nothing.

    Args:
        layers: The weights of each layer: float (head, query, key).
    """
    return layers[0].shape[-2] > 1 and not any(np.triu(weights, 1).any() for weights in layers)


def _check_sums(weights, layer):
    sums = weights.sum(axis=-1)
    fits = (np.abs(sums - 1) <= TOLERANCE) | (sums == 0)
    if not fits.all() or (weights < 0).any():
        head, query = np.argwhere(~fits if not fits.all() else (weights < 0).any(axis=-1))[0].tolist()
        raise Problem("arrays.sum", layer=layer, head=head, query=query, sum=f"{sums[head, query]:.3g}")


def _plain(layer):
    """Return an array of PyTorch, or several, without what NumPy cannot read: gradients, GPUs, bfloat16."""
    if hasattr(layer, "detach"):
        return layer.detach().cpu().float().numpy()
    if isinstance(layer, list | tuple) and any(hasattr(each, "detach") for each in layer):
        return [_plain(each) for each in layer]
    return layer


def _weights(layer, number):
    """Return the weights of one layer: float32 (head, query, key)."""
    if layer is None:
        raise Problem("arrays.layer_none", layer=number)
    try:
        weights = np.asarray(_plain(layer)).astype(np.float32)
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
