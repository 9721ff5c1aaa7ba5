"""The end of a Transformer: from the vectors of the last layer to logits."""

from typing import Any

import keras

from transformer_viz.network.attention import Shape, capped, dense, masked_score, project
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import ACTIVATIONS, Dropout, normalisation
from transformer_viz.network.tensors import Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


class ClassHead(keras.layers.Layer):
    """Pooling of all positions to one vector, and logits of the classes.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float (batch, position, d_model).
        readable: bool (batch, position), positions that are pooled.

    Returns:
        Pooling weights (batch, position) or None for "max", pooled vector (batch, d_model), logits (batch,
        num_outputs).
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        self.dropout = Dropout(config.dropout, name="dropout")
        self.classifier = dense(config.num_outputs, bias=True, name="classifier")
        self.pooling = self.pooled = self.pooled_norm = None
        if config.pooling == "attention":
            self.pooling = dense(1, bias=True, name="pooling")
        if config.pooled_activation != "none":
            self.pooled = dense(config.d_model, bias=True, name="pooled", activation=config.pooled_activation)
        if config.pooled_norm:
            self.pooled_norm = normalisation(config, "pooled_norm")

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        for each in (self.pooling, self.pooled, self.pooled_norm, self.classifier):
            if each is not None:
                each.build((None, self.config.d_model))

    def call(self, x: Tensor, readable: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """Pool and classify; see the class."""
        share, vector = self._pool(x, readable)
        return share, *self.classify(vector)

    def classify(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return what pooled vectors, float (..., d_model), are made into, and the logits of the classes."""
        if self.pooled is not None:
            vector = self.pooled(vector)
        if self.pooled_norm is not None:
            vector = self.pooled_norm(vector)
        return vector, self.classifier(self.dropout(vector))

    def _pool(self, x, readable):
        if self.config.pooling == "max":
            largest = ops.max(ops.where(readable[..., None], x, masked_score(x)), axis=1)
            return None, ops.where(ops.any(readable, axis=-1, keepdims=True), largest, 0.0)
        index = ops.arange(ops.shape(x)[1])[None]
        if self.config.pooling == "first":
            share = ops.cast(ops.equal(index, 0), x.dtype) + ops.zeros_like(x[..., 0])
        elif self.config.pooling == "last":
            last = ops.max(ops.where(readable, index, 0), axis=-1, keepdims=True)
            share = ops.cast(ops.equal(index, last), x.dtype)
        elif self.pooling is not None:
            scores = self.pooling(x)[..., 0]
            share = ops.softmax(ops.where(readable, scores, masked_score(scores)), axis=-1)
        else:
            share = ops.cast(readable, x.dtype)
            share = share / ops.maximum(ops.sum(share, axis=-1, keepdims=True), 1.0)
        return share, ops.matmul(share[:, None], x)[:, 0]


class VocabularyHead(keras.layers.Layer):
    """Logits over the vocabulary at each position.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float (batch, position, d_model).
        tokens: float (vocab_size, embedding_dim), the token embedding, which `tie_embeddings` shares.

    Returns:
        float (batch, position, num_outputs).
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        self.transform = self.transform_norm = self.output_dense = self.bias = None
        if config.output_transform:
            activation = ACTIVATIONS[config.activation]
            self.transform = dense(config.embedding_dim, bias=True, name="transform", activation=activation)
            self.transform_norm = normalisation(config, "transform_norm")
        if not config.tie_embeddings:
            self.output_dense = dense(config.num_outputs, bias=True, name="output")
        elif config.vocabulary_bias:
            self.bias = Bias(config.num_outputs, name="output")

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        width = self.config.d_model
        if self.transform is not None and self.transform_norm is not None:
            self.transform.build((None, width))
            width = self.config.embedding_dim
            self.transform_norm.build((None, width))
        for each in (self.output_dense, self.bias):
            if each is not None:
                each.build((None, width))

    def call(self, x: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits; see the class."""
        if self.transform is not None and self.transform_norm is not None:
            x = self.transform_norm(project(self.transform, x))
        if self.config.scale_output:
            x = x / self.config.d_model**0.5
        return capped(self._logits(x, tokens), self.config.logit_cap)

    def _logits(self, x, tokens):
        if self.output_dense is not None:
            return project(self.output_dense, x)
        logits = ops.matmul(x, ops.transpose(tokens))
        return logits if self.bias is None else self.bias(logits)


class Bias(keras.layers.Layer):
    """Adds a trained number to each of so many outputs.

    Args:
        units: Number of outputs.
    """

    def __init__(self, units: int, *, name: str | None = None):
        super().__init__(name=name)
        self.units = units

    def build(self, x_shape: Shape) -> None:
        """Create the parameters."""
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, x: Tensor) -> Tensor:
        """Add them."""
        return x + self.bias
