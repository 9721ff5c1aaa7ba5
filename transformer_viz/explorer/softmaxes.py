"""Every softmax that a Keras model computes while it is called, under any backend.

Keras offers no way to see what happens within a layer. So functions of Keras and of its backend are replaced
while a model computes, by functions that compute the same and tell of it.
"""

import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np
from keras.src import backend

from transformer_viz.trace.softmax import softmax

ATTENTION = (
    keras.layers.MultiHeadAttention,
    keras.layers.GroupQueryAttention,
    keras.layers.Attention,  # and AdditiveAttention, which is derived from it
)
"""The attention layers of Keras."""

MASKED = -1e9
"""The score of what is masked, as in `keras.layers.Softmax`."""

_LOCK = threading.Lock()
"""Held while functions are replaced: all threads share them."""


class Softmax(NamedTuple):
    """A softmax that has been computed.

    Attributes:
        layer: Path of the layer that computed it.
        is_attention: Whether it gave the weights of an attention layer of Keras, or of
            `keras.ops.dot_product_attention`: (..., head, queries, keys), or without heads.
        values: What it gave: a tensor, or an array.
        axes: The axes over which it sums to 1, from 0.
    """

    layer: str
    is_attention: bool
    values: Any
    axes: tuple[int, ...]


@contextmanager
def every_softmax(tell: Callable[[Softmax], None]) -> Iterator[None]:
    """Tell of every softmax that this thread computes meanwhile, in order.

    It does not tell of those that give no numbers: with which Keras builds a model, or which are within a
    function that JAX compiles. A `tf.function` computes step by step meanwhile.

    Args:
        tell: Called with each.
    """
    watch = _Watch(tell)
    with _LOCK, ExitStack() as stack:
        for owner, name, standing_in in (
            (keras.Operation, "__call__", watch.operation),
            (keras.layers.Softmax, "call", watch.layer),
            (backend.nn, "dot_product_attention", watch.attention),
            *((module, "softmax", watch.function) for module in (backend.nn, *_native_modules())),
        ):
            stack.enter_context(_replaced(owner, name, standing_in(getattr(owner, name))))
        if backend.backend() == "tensorflow":
            stack.enter_context(_eager_functions())
        yield


class _Watch:
    """What stands in for functions while the softmaxes of one thread are told of.

    Each public method takes a function and returns one that computes the same.

    Args:
        tell: Called with each softmax.
    """

    def __init__(self, tell: Callable[[Softmax], None]):
        self._tell = tell
        self._thread = threading.get_ident()
        self._running: list[keras.Operation] = []
        self._is_within = False

    def operation(self, call):
        """Stand in for `keras.Operation.__call__`, also of layers: know which are running."""

        @functools.wraps(call)
        def called(operation, *args, **options):
            if threading.get_ident() != self._thread:
                return call(operation, *args, **options)
            self._running.append(operation)
            try:
                return call(operation, *args, **options)
            finally:
                self._running.pop()

        return called

    def layer(self, call):
        """Stand in for `keras.layers.Softmax.call`, which takes several axes, and a mask."""

        @functools.wraps(call)  # Keras reads the arguments of layers that are made meanwhile
        def called(layer, *args, **options):
            return self._watched(lambda: call(layer, *args, **options), layer.axis)

        return called

    def function(self, softmax):
        """Stand in for a function of values and an axis, which PyTorch calls `dim`."""

        @functools.wraps(softmax)
        def called(*args, **options):
            axis = args[1] if len(args) > 1 else options.get("axis", options.get("dim"))
            return self._watched(lambda: softmax(*args, **options), -1 if axis is None else axis)

        return called

    def attention(self, attend):
        """Stand in for `dot_product_attention`, which keeps its weights to itself."""

        @functools.wraps(attend)
        def called(query, key, *args, **options):
            return self._watched(
                lambda: attend(query, key, *args, **options),
                -1,
                lambda: _weights(query, key, *args, **options),
            )

        return called

    def _watched(self, compute, axis, weights=None):
        """Return what is computed, and tell of it unless a softmax computes it on its way."""
        if self._is_within or threading.get_ident() != self._thread:
            return compute()
        self._is_within = True
        try:
            result = compute()
        finally:
            self._is_within = False
        if _has_numbers(result):
            values = result if weights is None else weights()
            axes = [axis] if isinstance(axis, int) else axis
            name, is_attention = self._place()
            is_attention = is_attention or weights is not None
            self._tell(Softmax(name, is_attention, values, tuple(each % len(values.shape) for each in axes)))
        return result

    def _place(self) -> tuple[str, bool]:
        """Return the path of the layer whose softmax is running, and whether it is one of `ATTENTION`."""
        for each in reversed(self._running):
            if isinstance(each, ATTENTION):
                return _path(each), True
        if not self._running:
            return "softmax", False
        owner = next((each for each in reversed(self._running) if not _is_plain(each)), None)
        if owner is None or isinstance(owner, keras.Model):  # of a functional model, the layer says more
            owner = self._running[-1]
        return _path(owner), False


def _is_plain(operation):
    """Return whether a layer or an operation is nothing but a softmax, which belongs to another layer."""
    plain = (keras.layers.Softmax, keras.layers.Activation)
    return isinstance(operation, plain) or not isinstance(operation, keras.Layer)


def _path(operation):
    return getattr(operation, "path", None) or operation.name


def _has_numbers(tensor):
    """Return whether a tensor has been computed, not only its shape."""
    if backend.in_symbolic_scope():
        return False
    if backend.backend() == "tensorflow":
        return hasattr(tensor, "numpy")  # one of a graph has none
    if backend.backend() == "jax":
        return not isinstance(tensor, importlib.import_module("jax.core").Tracer)
    return True


def float32(tensor: Any) -> np.ndarray:
    """Return a tensor of any backend and type of number as an array."""
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32")))


def _weights(query, key, value=None, bias=None, mask=None, scale=None, is_causal=False, **options):
    """Return the weights of `dot_product_attention`, whose arguments these are: (batch, head, query, key)."""
    query, key = float32(query), float32(key)
    key = np.repeat(key, query.shape[2] // key.shape[2], axis=2)
    scores = np.einsum("bqhd,bkhd->bhqk", query, key)
    scores *= query.shape[-1] ** -0.5 if scale is None else float(scale)
    if bias is not None:
        scores = scores + float32(bias)
    may_attend = np.ones(scores.shape, bool)
    if mask is not None:
        may_attend &= np.asarray(keras.ops.convert_to_numpy(mask), bool)
    if is_causal:
        may_attend &= np.tri(*scores.shape[-2:], dtype=bool)
    return softmax(np.where(may_attend, scores, MASKED)) * may_attend


def _native_modules() -> Sequence[Any]:
    """Return the modules of the backend's own library in which people find its softmax."""
    library: Any = importlib.import_module(backend.backend())
    if backend.backend() == "tensorflow":
        return library.nn, library.math
    return (library.nn,) if backend.backend() == "jax" else (library, library.nn.functional)


@contextmanager
def _eager_functions() -> Iterator[None]:
    """Let every `tf.function` compute step by step."""
    import tensorflow as tf  # noqa: PLC0415  the backend in use

    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    """Give an attribute another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
