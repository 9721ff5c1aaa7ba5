"""Scaled dot-product and multi-head attention, which return all their tensors."""

import math
from typing import Any

import keras

from transformer_viz.values.tensors import AttentionTrace, Intervention, Past, Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

Shape = tuple[int | None, ...]


def masked_score(scores: Tensor) -> float:
    """Return the value that replaces masked scores in the softmax: about the lowest of their type.

    It is finite, so that a fully masked row is not NaN.
    """
    return -65504.0 if keras.backend.standardize_dtype(scores.dtype) == "float16" else -3.38e38


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    intervention: Intervention | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return scaled dot-product attention (Vaswani et al., 2017, eq. 1) step by step.

    scores = query @ key^T / sqrt(head_dim); weights = softmax(scores); context = weights @ value.

    Args:
        query: (batch, head, query, head_dim).
        key: (batch, head, key, head_dim).
        value: (batch, head, key, value_dim).
        attention_mask: bool, True = may attend; broadcastable to (batch, head, query, key). None: no mask,
            which saves a pass over the scores.
        intervention: `Intervention` to apply, or None. A score bias of -inf masks the edge.

    Returns:
        scores (batch, head, query, key), before mask and bias; weights (batch, head, query, key), rows
        summing to 1, or to 0 if fully masked; context (batch, head, query, value_dim).
    """
    scores = ops.matmul(query / math.sqrt(key.shape[-1]), ops.swapaxes(key, -1, -2))
    if intervention is None and attention_mask is None:
        weights = ops.softmax(scores, axis=-1)
        return scores, weights, ops.matmul(weights, value)
    if intervention is None:
        weights = ops.softmax(ops.where(attention_mask, scores, masked_score(scores)), axis=-1)
        weights = ops.where(attention_mask, weights, 0.0)
        return scores, weights, ops.matmul(weights, value)
    allowed = intervention.score_bias > -math.inf
    if attention_mask is not None:
        allowed = ops.logical_and(attention_mask, allowed)
    gated = scores if intervention.score_gate is None else scores * intervention.score_gate
    biased = ops.where(allowed, gated + intervention.score_bias, masked_score(scores))
    weights = ops.softmax(biased, axis=-1) * ops.where(allowed, intervention.weight_gate, 0.0)
    if intervention.weight_patch is not None:
        weights = weights + intervention.weight_patch
    context = ops.matmul(weights, value) * intervention.head_gate
    if intervention.context_patch is not None:
        context = context + intervention.context_patch
    return scores, weights, context


class MultiHeadAttention(keras.layers.Layer):
    """Multi-head attention (Vaswani et al., 2017, section 3.2.2) that returns all its tensors.

    Args:
        d_model: Width of input and output.
        num_heads: Heads, each with its own query, key and value projection.
        head_dim: Width of one head's query and key (the paper's d_k).
        value_dim: Width of one head's value (the paper's d_v).
        use_bias: Bias in all projections.
        output_projection: Multiply the joined heads by W^O; False: the joined heads are the output.

    Call arguments:
        x: float (batch, query, d_model), the queries' side.
        source: float (batch, key, d_model), the keys' and values' side; `x` itself for self-attention.
        attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend.
        intervention: `Intervention`, or None.
        past: `Past` of the keys in front of those of `source`, or None.

    Returns:
        `AttentionTrace`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        head_dim: int,
        value_dim: int,
        *,
        use_bias: bool = True,
        output_projection: bool = True,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.d_model = d_model
        self.num_heads = num_heads
        self.query_dense = keras.layers.Dense(num_heads * head_dim, use_bias=use_bias, name="query")
        self.key_dense = keras.layers.Dense(num_heads * head_dim, use_bias=use_bias, name="key")
        self.value_dense = keras.layers.Dense(num_heads * value_dim, use_bias=use_bias, name="value")
        self.output_dense = None
        if output_projection:
            self.output_dense = keras.layers.Dense(d_model, use_bias=use_bias, name="output")

    def build(self, x_shape: Shape, source_shape: Shape | None = None) -> None:
        """Create the parameters; all sizes are known from the constructor."""
        for dense in (self.query_dense, self.key_dense, self.value_dense):
            dense.build((None, None, self.d_model))
        if self.output_dense is not None:
            self.output_dense.build((None, None, self.value_dense.units))

    def call(
        self,
        x: Tensor,
        source: Tensor,
        attention_mask: Tensor | None,
        intervention: Intervention | None = None,
        past: Past | None = None,
    ) -> AttentionTrace:
        """Compute attention; see the class."""
        query = self._split_heads(project(self.query_dense, x))
        key = self._split_heads(project(self.key_dense, source))
        value = self._split_heads(project(self.value_dense, source))
        if past is not None:
            key, value = (ops.concatenate(sides, axis=2) for sides in zip(past, (key, value), strict=True))
        scores, weights, context = attend(query, key, value, attention_mask, intervention)
        joined = ops.swapaxes(context, 1, 2)
        joined = ops.reshape(joined, (-1, ops.shape(x)[1], self.value_dense.units))
        output = joined if self.output_dense is None else project(self.output_dense, joined)
        return AttentionTrace(query, key, value, scores, weights, context, output)

    def _split_heads(self, projected):
        """Reshape (batch, position, head * width) to (batch, head, position, width)."""
        width = projected.shape[-1] // self.num_heads
        heads = ops.reshape(projected, (-1, ops.shape(projected)[1], self.num_heads, width))
        return ops.swapaxes(heads, 1, 2)


def project(dense: keras.layers.Dense, x: Tensor) -> Tensor:
    """Return dense(x) of (batch, position, width) as a product of two matrices.

    On three axes TensorFlow computes shapes in ten small operations; for short texts they dominate.
    """
    rows = dense(ops.reshape(x, (-1, x.shape[-1])))
    return ops.reshape(rows, (-1, ops.shape(x)[1], rows.shape[-1]))
