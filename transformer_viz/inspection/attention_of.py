"""The attention weights of any Keras model, recorded while it computes."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_viz.inspection.keras_process import attention_in_file
from transformer_viz.language import Problem

_LOCK = threading.Lock()
"""Held while the layers of Keras record: they are shared by all threads."""


class NoAttentionError(Problem):
    """A model has computed without an attention layer of Keras."""


def attention_of(
    model: Callable[..., Any] | str | os.PathLike[str], inputs: Any, *, trusted: bool = False
) -> dict[str, np.ndarray]:
    """Return the attention weights of all attention layers of a Keras model for some inputs.

    The layers are `keras.layers.MultiHeadAttention`, `GroupQueryAttention`, `Attention` and
    `AdditiveAttention`, and those derived from them that keep their way to compute, wherever they are: in
    functional, subclassed and nested models, also within a `tf.function`. Neither the model nor what it
    predicts changes.

        weights = tv.attention_of(model, token_ids[None])
        tv.show(weights, tokens)

    A `.keras` file is opened in a process of its own, for opening it can run code in it; nothing but the
    weights comes back.

        weights = tv.attention_of("model.keras", token_ids[None], trusted=True)

    Args:
        model: A Keras model or layer, which is called once, not in training mode; or the path of a file.
        inputs: What it is called with; of a file arrays, or lists, tuples and dicts of them.
        trusted: That you trust whoever made the file; without it, only what `config.json` says is told.

    Returns:
        Path of each layer -> float32 (batch, head, query, key), in the order of computation; rows sum to 1.
        A layer that computes several times has " (2)" and so on behind its path. A layer without heads has
        one. Several attention axes are one, row by row.

    Raises:
        NoAttentionError: If there is no such layer. It is a `ValueError`, as the others are.
        NotTrustedError: If the file was not opened as `trusted` is not True; says what is in it.
        OpeningError: If the file cannot be opened, say, without the code of its own classes, or called.
        ModelError: If it is no file of Keras 3, or damaged.
    """
    if isinstance(model, str | os.PathLike):
        return _not_empty(attention_in_file(model, inputs, trusted=trusted))
    found: dict[str, np.ndarray] = {}

    def record(layer, weights, axes=1):
        if not tf.executing_eagerly():  # a model that is built as it is called does this with shapes alone
            return
        array = np.asarray(weights, np.float32)
        batch, heads, *rest = array.shape if array.ndim > 3 else (len(array), 1, *array.shape[1:])
        name, count = layer.path or layer.name, 1
        while (key := name if count == 1 else f"{name} ({count})") in found:
            count += 1
        found[key] = array.reshape(batch, heads, int(np.prod(rest[:axes])), int(np.prod(rest[axes:])))

    with _LOCK, _recording(record), _eager_functions():
        model(inputs, training=False)
    return _not_empty(found)


def _not_empty(found):
    if not found:
        raise NoAttentionError("attention_of.none")
    return found


@contextmanager
def _recording(record) -> Iterator[None]:
    """Let the attention layers record their weights, besides computing as they do."""
    layers = keras.layers
    parts: Mapping[tuple[type, str], Callable] = {
        (layers.MultiHeadAttention, "_compute_attention"): _projected,
        (layers.GroupQueryAttention, "_compute_attention"): _projected,
        (layers.Attention, "_apply_scores"): _scored,
    }
    with ExitStack() as stack:
        for (kind, method), recorded in parts.items():
            own = getattr(kind, method)
            stack.enter_context(_replaced(kind, method, recorded(own, record)))
        yield


def _projected(compute, record):
    def recorded(self, query, key, value, attention_mask=None, *args, **options):
        result = compute(self, query, key, value, attention_mask, *args, **options)
        weights = result[1]
        if weights is None:  # a faster kernel has computed, which may make a causal mask by itself
            if attention_mask is None and options.get("use_causal_mask"):
                attention_mask = self._compute_causal_mask(query, value)
            weights = _returned_weights(compute, self, query, key, value, attention_mask)
        record(self, weights, len(getattr(self, "_attention_axes", (1,))))
        return result

    return recorded


def _returned_weights(compute, layer, *inputs):
    """Return the weights that a layer computes without a faster kernel."""
    with _replaced(layer, "_flash_attention", False):
        if not isinstance(layer, keras.layers.GroupQueryAttention):
            return compute(layer, *inputs, training=False, return_attention_scores=True)[1]
        with _replaced(layer, "_return_attention_scores", True):
            return compute(layer, *inputs, training=False)[1]


def _scored(apply, record):
    def recorded(self, *args, **options):
        result = apply(self, *args, **options)
        record(self, result[1])
        return result

    return recorded


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    """Give an attribute another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _eager_functions() -> Iterator[None]:
    """Let every `tf.function` compute step by step."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
