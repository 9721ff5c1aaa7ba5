"""The layers of which the others are made: dense, normalisation, dropout, feed-forward."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import keras

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import FeedForwardTrace, Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

Shape = tuple[int | None, ...]

_ARE_READ: ContextVar[bool] = ContextVar("are_read", default=False)


@contextlib.contextmanager
def parameters_to_be_read() -> Iterator[None]:
    """Begin with zeros in models made in this block: random numbers of a large model take seconds."""
    token = _ARE_READ.set(True)
    try:
        yield
    finally:
        _ARE_READ.reset(token)


def initial(usual: str) -> str:
    """Return the name of the initial values of a matrix, given the usual ones."""
    return "zeros" if _ARE_READ.get() else usual


def dense(units: int, *, bias: bool, name: str, activation: Any = None) -> keras.layers.Dense:
    """Return a dense layer."""
    kernel = initial("glorot_uniform")
    return keras.layers.Dense(
        units, use_bias=bias, activation=activation, kernel_initializer=kernel, name=name
    )


def table(rows: int, width: int, *, name: str) -> keras.layers.Embedding:
    """Return a table of trained vectors."""
    return keras.layers.Embedding(rows, width, embeddings_initializer=initial("uniform"), name=name)


def project(layer: keras.layers.Dense, x: Tensor) -> Tensor:
    """Return layer(x) of (batch, position, width) as a product of two matrices.

    On three axes TensorFlow computes shapes in ten small operations; for short texts they dominate.
    """
    rows = layer(ops.reshape(x, (-1, x.shape[-1])))
    return ops.reshape(rows, (-1, ops.shape(x)[1], rows.shape[-1]))


def normalisation(config: TransformerConfig, name: str) -> keras.layers.Layer:
    """Return a normalisation of the config's kind."""
    kinds = {"layer": keras.layers.LayerNormalization, "rms": keras.layers.RMSNormalization}
    return kinds[config.norm_kind](epsilon=config.norm_epsilon, name=name)


ACTIVATIONS: dict[str, Any] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu-tanh": lambda x: keras.activations.gelu(x, approximate=True),
    "silu": "silu",
}
"""Name of an activation -> what Keras knows it by."""


class Dropout(keras.layers.Layer):
    """Dropout (Srivastava et al., 2014) whose variable has the same name in every model.

    That of `keras.layers.Dropout` is counted up, and TensorFlow keeps some 36 kB for every new name of a
    variable, also when its model is gone.

    Args:
        rate: Share of the numbers that are set to 0 in training, from 0 to 1.

    Call arguments:
        x: float, of any shape.
        training: Whether numbers are dropped.
    """

    def __init__(self, rate: float, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = rate
        self.seed_generator = keras.random.SeedGenerator(name="seed_generator") if rate else None

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """Drop numbers and scale up the others; see the class."""
        return keras.random.dropout(x, self.rate, seed=self.seed_generator) if training and self.rate else x


class FeedForward(keras.layers.Layer):
    """Two dense layers applied to each position separately (Vaswani et al., 2017, section 3.3).

    TensorFlow's tutorial calls it `point_wise_feed_forward_network` or `FeedForward`, nanoGPT `MLP`. A third
    dense layer may gate the hidden one (Shazeer, 2020).

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float (batch, position, d_model).

    Returns:
        `FeedForwardTrace`.
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        width, bias, activation = config.ffn_dim, config.ffn_bias, ACTIVATIONS[config.activation]
        self.gate_dense = None
        if config.gated_ffn:
            self.gate_dense = dense(width, bias=bias, name="gate", activation=activation)
            activation = None
        self.hidden_dense = dense(width, bias=bias, name="hidden", activation=activation)
        self.output_dense = dense(config.d_model, bias=bias, name="output")

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        for each in (self.hidden_dense, self.gate_dense):
            if each is not None:
                each.build((None, None, self.config.d_model))
        self.output_dense.build((None, None, self.config.ffn_dim))

    def call(self, x: Tensor) -> FeedForwardTrace:
        """Transform each position; see the class."""
        hidden = project(self.hidden_dense, x)
        if self.gate_dense is not None:
            hidden = hidden * project(self.gate_dense, x)
        return FeedForwardTrace(hidden, project(self.output_dense, hidden))
