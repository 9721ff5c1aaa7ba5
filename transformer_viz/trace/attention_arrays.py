"""Attention weights that another program computed, read from the arrays of any framework."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.tensors import Attentions, AttentionTrace

TOLERANCE = 0.02
"""Largest deviation of the sum of a row from 1; bfloat16 has two to three decimal digits."""

NO_SCORE = -5e4
"""Lower numbers are scores of masked keys: -1e9, or the least number of float16, bfloat16 or float32."""

OUTPUTS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
"""Kind of attention -> where an encoder-decoder's output of `transformers` has it."""

ALONE = "attentions"
"""Where the output of another model has its self-attention."""

KINDS = ("self", "encoder", "decoder", "cross")
"""Kinds of attention, in the order in which a model has them; "self": of a model with one text."""


def read_kinds(
    attention: Any,
    tokens: Sequence[str] | None,
    *,
    decoder: Any = None,
    cross: Any = None,
    target_tokens: Sequence[str] | None = None,
    attention_mask: Any = None,
    signed: bool = False,
) -> dict[str, Attentions]:
    """Return kind of attention ("encoder", "decoder", "cross") -> what is given of it; of a single text
    "self" -> its self-attention.

    Args:
        attention: As for `read_attention`, of self-attention; or an output of `transformers`, or all layers
            of an encoder-decoder, told apart by their shapes.
        tokens: Texts of the tokens of a single text, or of the encoder's.
        decoder: Self-attention of an encoder-decoder's decoder.
        cross: Cross-attention, from `target_tokens` to `tokens`.
        target_tokens: Texts of the decoder's tokens.
        attention_mask: As for `read_attention`, for `tokens`.
        signed: As for `read_attention`.

    Raises:
        ValueError: If there are no weights, or they do not fit the tokens.
    """
    given = {"self": attention, "decoder": decoder, "cross": cross}
    if (parts := _parts(attention)) is not None:
        given = {kind: layers for kind, layers in (given | parts).items() if kind != "self" or kind in parts}
    elif attention is not None and target_tokens is not None and decoder is None and cross is None:
        given = by_kind(attention, _named("tokens", tokens), target_tokens)
    given = {kind: layers for kind, layers in given.items() if layers is not None}
    if not given:
        raise Problem("arrays.none")
    if len(given) > 1 and "self" in given:
        given["decoder" if parts else "encoder"] = given.pop("self")
    found = {}
    for kind in (each for each in KINDS if each in given):
        keys = _named("target_tokens", target_tokens) if kind == "decoder" else _named("tokens", tokens)
        queries = _named("target_tokens", target_tokens) if kind == "cross" else keys
        padding = None if kind == "decoder" else attention_mask
        options = {"attention_mask": padding, "signed": signed}
        found[kind] = read_attention(given[kind], queries, keys, is_self=kind != "cross", **options)
    return found


def read_attention(
    layers: Any,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    is_self: bool = True,
    attention_mask: Any = None,
    signed: bool = False,
) -> Attentions:
    """Return attention weights from the arrays of NumPy, PyTorch, TensorFlow or JAX.

    Keys that no query attends to are masked, as padding is. If no query attends to a later key, all later
    keys are masked, as in a decoder, also where tokens in front are padding that only padding attends to.

    Args:
        layers: One array for each layer, as `transformers` returns them with `output_attentions=True`: floats
            (head, query, key), also with a batch axis of 1 in front; or a mapping from names to those of the
            layers, which may have different numbers of heads; or the steps of `generate()`, each with all
            layers, of which the last token is never read and may be left out of the tokens or not. One array
            alone is (query, key), one layer (head, query, key), or all layers (layer, head, query, key). Rows
            sum to 1, or to less if weight goes to no token, as to the sinks of gpt-oss.
        query_tokens: Texts of the rows.
        key_tokens: Texts of the columns.
        is_self: Whether queries and keys are the same tokens.
        attention_mask: What may be attended to, true or 1, in NumPy or any framework: (key,) with padding,
            (query, key) or (head, query, key), also with axes of 1 in front. None: the weights tell.
        signed: Whether the numbers are no weights, but may be of any size, as gradients and scores. Those
            that are NaN or minus infinity are masked.

    Raises:
        ValueError: If the arrays are no attention weights, or do not fit the tokens.
    """
    if isinstance(query_tokens, str) or isinstance(key_tokens, str):
        raise Problem("arrays.text")
    queries, keys = (tuple(map(str, tokens)) for tokens in (query_tokens, key_tokens))
    read, are_steps = _read_layers(layers, is_self=is_self)
    shape = read[0].shape[1:]
    if are_steps and len(queries) == shape[0] + 1:
        queries, keys = queries[:-1], keys[:-1] if is_self else keys
    if shape != (len(queries), len(keys)):
        raise Problem("arrays.tokens", found=str(shape), expected=str((len(queries), len(keys))))
    gaps = None
    if signed:
        read, gaps = _with_gaps(read)
    else:
        _check_weights(read)
    if attention_mask is None:
        mask = _likely_mask(read, is_self=is_self, signed=signed)
    else:
        mask = _given_mask(attention_mask, shape, is_self=is_self)
        _check_mask(read, mask)
    if not mask.all():
        read = [np.where(mask, weights, np.float32(0)) for weights in read]
    if is_self and is_causal(read):
        mask = mask & np.tri(len(queries), dtype=bool)
    mask = np.broadcast_to(mask, (1, *mask.shape) if mask.ndim == 3 else (1, 1, *shape))
    traces = [AttentionTrace(None, None, None, None, weights, None, None) for weights in read]
    return Attentions(traces, mask if gaps is None else mask & ~gaps, queries, keys)


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
    for number, layer in enumerate(_each_layer(layers, is_self=True).layers):
        weights = _weights(layer, number)
        if weights.shape[1:] not in sides:
            raise Problem(
                "arrays.no_side",
                layer=number,
                found=str(weights.shape[1:]),
                expected=", ".join(map(str, sides)),
            )
        found[sides[weights.shape[1:]]].append(weights)
    return {kind: each for kind, each in found.items() if each}


def is_causal(layers: Sequence[np.ndarray]) -> bool:
    """Return whether no query attends to a later key; one token alone tells nothing.

    Args:
        layers: The weights of each layer: float (head, query, key).
    """
    return layers[0].shape[-2] > 1 and not any(np.triu(weights, 1).any() for weights in layers)


def rest_of(layers: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return the weight of each row that goes to no key, of each layer: float32 (head, query) in [0, 1].

    None if that is none, up to rounding. Rows without any weight are those of queries that may attend to
    nothing, and have no rest.

    Args:
        layers: The weights of each layer: float (head, query, key).
    """
    sums = [weights.sum(axis=-1) for weights in layers]
    rest = [np.where(total == 0, 0, 1 - total).clip(0, 1).astype(np.float32) for total in sums]
    return rest if any((each > TOLERANCE).any() for each in rest) else None


class _Layers(NamedTuple):
    layers: list[Any]
    are_steps: bool


def _parts(output):
    """Return kind of attention -> the layers that an output of `transformers` has; None: it is no output."""
    keys = output if isinstance(output, Mapping) else {}
    names = {"self": ALONE, **OUTPUTS}
    if not any(hasattr(output, name) or name in keys for name in names.values()):
        return None
    found = {kind: keys.get(name, getattr(output, name, None)) for kind, name in names.items()}
    return {kind: layers for kind, layers in found.items() if layers is not None and len(layers)}


def _named(name, tokens):
    if tokens is None:
        raise Problem("arrays.no_tokens", name=name)
    return tokens


def _read_layers(given, *, is_self):
    """Return the weights of each layer, all of the same queries and keys, and whether they were steps."""
    each, are_steps = _each_layer(given, is_self=is_self)
    read = [_weights(layer, number) for number, layer in enumerate(each)]
    if not read:
        raise Problem("arrays.none")
    for number, weights in enumerate(read):
        found, expected = weights.shape[1:], read[0].shape[1:]
        if found != expected:
            raise Problem("arrays.differ", layer=number, found=str(found), expected=str(expected))
    return read, are_steps


def _each_layer(given: Any, *, is_self: bool) -> _Layers:
    """Return the array of each layer, however they are given."""
    if isinstance(given, Mapping):
        return _Layers(list(given.values()), False)
    array: Any = given if hasattr(given, "shape") else None
    if isinstance(given, list | tuple) and _are_numbers(given):
        with contextlib.suppress(ValueError):  # layers with different numbers of heads
            array = np.array(given, np.float32)
    if array is not None:
        axes = len(array.shape)
        return _Layers([array[None]] if axes == 2 else list(array) if axes > 3 else [array], False)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Problem("arrays.unknown", type=type(given).__name__)
    given = list(given)
    steps = [each for each in given if _is_step(each)]
    if steps and len(steps) == len(given):
        layers = [[_plain(layer) for layer in layers] for layers in zip(*given, strict=True)]
        return _Layers([_joined(layer, is_self=is_self) for layer in layers], True)
    if len(steps) > 1:
        raise Problem("arrays.outputs")
    return _Layers([*steps[0]] if steps else given, False)


def _are_numbers(given):
    """Return whether nested lists have numbers in them, not arrays."""
    while isinstance(given, list | tuple) and given:
        given = given[0]
    return isinstance(given, int | float) or (isinstance(given, np.generic) and given.dtype.kind in "fiu")


def _is_step(each):
    """Return whether something is a tuple of arrays with a batch axis, as `generate()` returns for a step."""
    return isinstance(each, list | tuple) and len(each) > 0 and getattr(each[0], "ndim", 0) == 4


def _joined(steps, *, is_self):
    """Return the weights of one layer from those of each step of `generate()`: (1, head, query, key).

    With a cache, a step has the queries since the last one; without, all. A cache of fixed size has keys that
    are not written yet.
    """
    texts = max(len(step) for step in steps)
    if texts > 1:
        raise Problem("arrays.beams", count=texts)
    steps = [np.asarray(step) for step in steps]
    sizes = [step.shape[2] for step in steps]
    if len(steps) > 1 and all(later > sooner for sooner, later in pairwise(sizes)):
        steps = steps[-1:]
    keys = max(step.shape[3] for step in steps)
    padded = [np.pad(step, ((0, 0), (0, 0), (0, 0), (0, keys - step.shape[3]))) for step in steps]
    joined = np.concatenate(padded, axis=2)
    return joined[..., : joined.shape[2]] if is_self else joined


def _with_gaps(read):
    """Return numbers with 0 where they are masked, and where that is: bool (layer, head, query, key)."""
    gaps = [np.isnan(numbers) | (numbers < NO_SCORE) for numbers in read]
    read = [np.where(gap, np.float32(0), numbers) for gap, numbers in zip(gaps, read, strict=True)]
    for number, numbers in enumerate(read):
        _check_finite(numbers, number)
    most = max(map(len, gaps))
    filled = [np.pad(gap, ((0, most - len(gap)), (0, 0), (0, 0))) for gap in gaps]
    return read, np.stack(filled) if any(map(np.any, gaps)) else None


def _likely_mask(read, *, is_self, signed):
    """Return what queries may attend to, from what they attend to in any head: bool (query, key)."""
    attends = np.any([(weights != 0).any(axis=0) for weights in read], axis=0)
    if signed:
        return np.ones_like(attends)
    padding = _padding_in_front(read, attends) if is_self else 0
    if padding:
        inside = np.arange(len(attends)) >= padding
        return np.tri(len(attends), dtype=bool) & inside & inside[:, None]
    return np.broadcast_to(attends.any(axis=0), attends.shape)


def _padding_in_front(read, attends):
    """Return the number of tokens of padding in front of a decoder's.

    Each later token attends to some from there up to itself, while padding, which may attend to nothing,
    attends to all tokens alike, as far as they were there.
    """
    count = len(attends)
    first = np.where(attends.any(axis=1), attends.argmax(axis=1), count)
    last = np.where(attends.any(axis=1), count - 1 - attends[:, ::-1].argmax(axis=1), -1)
    if (last <= np.arange(count)).all():
        return 0
    within = np.minimum.accumulate(first[::-1])[::-1] >= np.arange(count)
    causal = np.logical_and.accumulate((last <= np.arange(count))[::-1])[::-1]
    for padding in np.flatnonzero(within & causal)[:1].tolist():
        is_even = all(_is_even(weights[:, :padding]) for weights in read)
        return padding if is_even and padding < count - 1 else 0
    return 0


def _is_even(rows):
    """Return whether rows attend alike to all tokens up to some."""
    seen = (rows > 0).sum(axis=-1, keepdims=True)
    even = np.where(np.arange(rows.shape[-1]) < seen, rows.sum(axis=-1, keepdims=True) / seen.clip(1), 0)
    return bool((np.abs(rows - even) < TOLERANCE).all())


def _given_mask(given, shape, *, is_self):
    """Return a mask as bool (query, key) or (head, query, key)."""
    mask = np.asarray(_plain(given)).astype(bool)
    found, (queries, keys) = mask.shape, shape
    while mask.ndim > 1 and len(mask) == 1 and mask.shape != shape:
        mask = mask[0]
    if mask.shape == (keys,):
        return mask & mask[:, None] if is_self else np.broadcast_to(mask, shape)
    if mask.ndim not in (2, 3) or mask.shape[-2:] != shape:
        raise Problem("arrays.mask_shape", found=str(found), queries=queries, keys=keys)
    return mask


def _check_mask(read, mask):
    """Rows that may attend to nothing have weights that mean nothing."""
    for layer, weights in enumerate(read):
        if mask.ndim == 3 and len(mask) != len(weights):
            raise Problem(
                "arrays.mask_shape", found=str(mask.shape), queries=mask.shape[1], keys=mask.shape[2]
            )
        outside = (np.abs(weights) > TOLERANCE) & ~mask & mask.any(axis=-1, keepdims=True)
        if outside.any():
            head, query, key = np.argwhere(outside)[0].tolist()
            raise Problem("arrays.mask", layer=layer, head=head, query=query, key=key)


def _check_finite(numbers, layer):
    if not np.isfinite(numbers).all():
        head, query, _ = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise Problem("arrays.not_finite", layer=layer, head=head, query=query)


def _check_weights(read):
    for layer, weights in enumerate(read):
        _check_finite(weights, layer)
        sums = weights.sum(axis=-1)
        wrong = (sums > 1 + TOLERANCE) | (weights < 0).any(axis=-1)
        if wrong.any():
            head, query = np.argwhere(wrong)[0].tolist()
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
    return weights
