"""The attention weights of any Keras model, recorded while it computes."""

import inspect
import json
import math
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from transformer_viz.explorer.softmaxes import Softmax, every_softmax, float32
from transformer_viz.language import Phrase, Problem
from transformer_viz.trace.recorded_attention import NoAttentionError, RecordedAttention

LISTED = 8
"""Most softmaxes that a sentence names."""


def attention_of(
    model: Callable[..., Any],
    *inputs: Any,
    layers: str | Sequence[str] | None = None,
    **options: Any,
) -> RecordedAttention:
    """Return the attention weights of all attention layers of a Keras model for some inputs.

    These are, in functional, subclassed and nested models, within a `tf.function` too, but not in what JAX
    compiles:

    - the weights of `keras.layers.MultiHeadAttention`, `GroupQueryAttention`, `Attention` and
      `AdditiveAttention`, of layers derived from them, and of `keras.ops.dot_product_attention`;
    - any other softmax over the last axis of four or more, as in attention layers of one's own:
      `keras.layers.Softmax`, `keras.ops.softmax`, `keras.activations.softmax`, and that of the backend
      (`tf.nn.softmax`, `jax.nn.softmax`, `torch.softmax`);
    - a softmax of three axes, the last two of which are as long as sequences of the inputs.

    What the model itself returns is none: the probabilities of classes or pixels. Only beside another result,
    and with two axes as long as sequences, it is, as models of tutorials return their weights.

        weights = tv.attention_of(model, token_ids[None])
        tv.show(weights, tokens)

    Neither the model nor what it predicts changes. It runs under the backends TensorFlow, JAX and PyTorch.

    Args:
        model: A Keras model or layer, or a function that calls some; it is called once, not in training mode.
            No path: whoever trusts a file loads it with `keras.saving.load_model`.
        *inputs: What it is called with.
        layers: Paths of the layers whose softmaxes are wanted, or the ends of these paths; None: all that
            are attention by the rules above. One that is named is taken whatever its axes are, with the axis
            over which it sums to 1 as the last.
        **options: What it is called with by name.

    Returns:
        Path of each layer -> float32 (batch, head, query, key), in the order of computation; rows sum to 1,
        or to 0 if all keys are masked. A layer that computes several times has " (2)" and so on behind its
        path. A layer without heads has one. Several attention axes are one, row by row. Axes before the heads
        of an attention layer of Keras are of the batch; of another softmax, all between the first and the
        last two are heads. What else was seen is in its `left_out`.

    Raises:
        NoAttentionError: If there is no such layer. It is a `ValueError`, as the others are.
        ValueError: If a name in `layers` is that of no softmax, or the model is the path of a file.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(os.fsdecode(model)).as_posix()
        raise Problem("attention_of.file", path=json.dumps(path, ensure_ascii=False))
    wanted = (layers,) if isinstance(layers, str) else layers
    found = _Found(_sequence_lengths((inputs, options)), wanted)
    if _takes_training(model):
        options = {"training": False} | options
    with every_softmax(found.add):
        result = model(*inputs, **options)
    return found.attention([each for each in keras.tree.flatten(result) if hasattr(each, "shape")])


class _Found:
    """The softmaxes that a model has computed so far.

    Args:
        lengths: Of the sequences of the inputs.
        wanted: Names of layers; None: those that are attention.
    """

    def __init__(self, lengths: Collection[int], wanted: Sequence[str] | None):
        self._lengths = lengths
        self._wanted = wanted
        self._taken: dict[str, Softmax] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._left_out: dict[str, Phrase] = {}

    def add(self, softmax: Softmax) -> None:
        """Take one more, or say why it is left out."""
        name, count = softmax.layer, 1
        while (key := name if count == 1 else f"{name} ({count})") in self._shapes:
            count += 1
        self._shapes[key] = tuple(softmax.values.shape)
        reason = self._reason(softmax) if self._wanted is None else _unless_named((key, name), self._wanted)
        if reason is None:
            self._taken[key] = softmax._replace(values=float32(softmax.values))
        else:
            self._left_out[key] = Phrase(reason, shape=str(self._shapes[key]))

    def attention(self, results: Sequence[Any]) -> RecordedAttention:
        """Return the weights, given what the model has returned.

        Raises:
            NoAttentionError: If there are none.
            ValueError: If a layer that is wanted has computed none.
        """
        for wanted in self._wanted or ():
            if not any(_is_named(key, wanted) for key in self._taken):
                raise Problem("attention_of.unknown", name=wanted, found=self._listed())
        if self._wanted is None:
            for key in [key for key, each in self._taken.items() if self._is_result(each, results)]:
                self._left_out[key] = Phrase("attention_of.result", shape=str(self._shapes[key]))
                del self._taken[key]
        if not self._shapes:
            raise NoAttentionError("attention_of.none")
        if not self._taken:
            raise NoAttentionError("attention_of.left_out", found=self._listed())
        return RecordedAttention({key: _weights(each) for key, each in self._taken.items()}, self._left_out)

    def _reason(self, softmax):
        """Return the code of why a softmax is not attention, or None."""
        if softmax.is_attention:
            return None
        count, over = len(softmax.values.shape), len(softmax.axes)
        if softmax.axes != tuple(range(count - over, count)):
            return "attention_of.axis"
        if count < 2 * over + 2 and not (count == 3 and self._are_sequences(softmax)):
            return "attention_of.axes"
        return None

    def _are_sequences(self, softmax):
        return all(size in self._lengths for size in softmax.values.shape[-2:])

    def _is_result(self, softmax, results):
        """Return whether a softmax is what the model returns; beside it, it may return its weights."""
        if softmax.is_attention or (len(results) > 1 and self._are_sequences(softmax)):
            return False
        alike = [each for each in results if tuple(each.shape) == softmax.values.shape]
        return any(np.array_equal(float32(each), softmax.values) for each in alike)

    def _listed(self):
        names = [f"{key} {shape}" for key, shape in self._shapes.items()]
        return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")


def _is_named(path, name):
    """Return whether a path, or its end, is a name."""
    return path == name or path.endswith(f"/{name}")


def _unless_named(paths, wanted):
    """Return the code of why a softmax is not taken unless one of its paths is wanted."""
    named = any(_is_named(path, name) for path in paths for name in wanted)
    return None if named else "attention_of.not_wanted"


def _sequence_lengths(inputs) -> set[int]:
    """Return the lengths of the second axis of all arrays: (batch, position) and (batch, position, width)."""
    shapes = [getattr(each, "shape", ()) for each in keras.tree.flatten(inputs)]
    return {shape[1] for shape in shapes if len(shape) > 1}


def _takes_training(model) -> bool:
    """Return whether a model is called with `training`."""
    if isinstance(model, keras.Layer):
        return True
    try:
        arguments = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):  # of a function that is not written in Python
        return False
    return any(each.name == "training" or each.kind is each.VAR_KEYWORD for each in arguments)


def _weights(softmax) -> np.ndarray:
    """Return values as weights: float32 (batch, head, query, key)."""
    over = len(softmax.axes)
    values = np.moveaxis(softmax.values, softmax.axes, range(-over, 0))
    while values.ndim < 2 * over + 1:  # one query, without an axis of its own
        values = np.expand_dims(values, -over - 1)
    before, queries, keys = values.shape[: -2 * over], values.shape[-2 * over : -over], values.shape[-over:]
    heads = before[1:]
    if softmax.is_attention:
        heads = heads[-1:]
    return values.reshape(-1, math.prod(heads), math.prod(queries), math.prod(keys))
