"""The layers of a Transformer: each returns its intermediate tensors and takes interventions as tensors."""

import math
from typing import Any

import keras

from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.trace import (
    AttentionTrace,
    BlockIntervention,
    DecoderBlockTrace,
    EncoderBlockTrace,
    FeedForwardTrace,
    Intervention,
    Patch,
    Tensor,
)

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

Shape = tuple[int | None, ...]

NORM_EPSILON = 1e-6
"""Added to the variance in layer normalisation."""


def masked_score(scores: Tensor) -> float:
    """Return the value that replaces masked scores in the softmax.

    It is finite, so that a fully masked row is not NaN; the smallest float16 is -65504.
    """
    return -6e4 if keras.backend.standardize_dtype(scores.dtype) == "float16" else -1e9


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
    biased = ops.where(allowed, scores + intervention.score_bias, masked_score(scores))
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
    ) -> AttentionTrace:
        """Compute attention; see the class."""
        query = self._split_heads(project(self.query_dense, x))
        key = self._split_heads(project(self.key_dense, source))
        value = self._split_heads(project(self.value_dense, source))
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


class FeedForward(keras.layers.Layer):
    """Two dense layers applied to each position separately (Vaswani et al., 2017, section 3.3).

    Args:
        d_model: Width of input and output.
        ffn_dim: Width between them; 0: the layer adds nothing.
        activation: "relu" (the paper) or "gelu".

    Call arguments:
        x: float (batch, position, d_model).

    Returns:
        `FeedForwardTrace`.
    """

    def __init__(self, d_model: int, ffn_dim: int, *, activation: str = "relu", name: str | None = None):
        super().__init__(name=name)
        self.d_model = d_model
        self.ffn_dim = ffn_dim
        if ffn_dim:
            self.hidden_dense = keras.layers.Dense(ffn_dim, activation=activation, name="hidden")
            self.output_dense = keras.layers.Dense(d_model, name="output")

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the constructor."""
        if self.ffn_dim:
            self.hidden_dense.build((None, None, self.d_model))
            self.output_dense.build((None, None, self.ffn_dim))

    def call(self, x: Tensor) -> FeedForwardTrace:
        """Transform each position; see the class."""
        if not self.ffn_dim:
            return FeedForwardTrace(x[..., :0], ops.zeros_like(x))
        hidden = project(self.hidden_dense, x)
        return FeedForwardTrace(hidden, project(self.output_dense, hidden))


class Block(keras.layers.Layer):
    """Base class of encoder and decoder blocks: sub-layers with residual connections and normalisation.

    Args:
        config: `TransformerConfig`.
        attentions: Names of the attention layers, in order of computation.
    """

    def __init__(self, config: TransformerConfig, attentions: list[str], *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        self.ffn = FeedForward(config.d_model, config.ffn_dim, activation=config.activation, name="ffn")
        self.dropout = keras.layers.Dropout(config.dropout)
        self.sublayers = [*attentions, "ffn"] if config.ffn_dim else attentions
        for attention in attentions:
            setattr(self, attention, self._attention(attention))
        for sublayer in self.sublayers if config.norm != "none" else ():
            setattr(self, f"{sublayer}_norm", layer_norm(f"{sublayer}_norm"))

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        for sublayer in self.sublayers:
            getattr(self, sublayer).build(x_shape)
            if self.config.norm != "none":
                getattr(self, f"{sublayer}_norm").build(x_shape)

    def _attention(self, name):
        config = self.config
        return MultiHeadAttention(
            config.d_model,
            config.num_heads,
            config.head_dim,
            config.value_dim,
            use_bias=config.attention_bias,
            output_projection=config.output_projection,
            name=name,
        )

    def _attend(
        self, name, x, source, attention_mask, intervention
    ) -> tuple[Tensor, AttentionTrace, Tensor, Tensor]:
        """Run one attention layer; return its input, its trace, the sum, and the residual stream after it."""
        read = self._before(name, x)
        trace = getattr(self, name)(read, read if source is None else source, attention_mask, intervention)
        return read, trace, *self._after(name, x, trace.output)

    def _feed_forward(self, x) -> tuple[Tensor, FeedForwardTrace, Tensor, Tensor]:
        """Run the feed-forward layer; return the same four."""
        if not self.config.ffn_dim:
            return x, self.ffn(x), x, x
        read = self._before("ffn", x)
        trace = self.ffn(read)
        return read, trace, *self._after("ffn", x, trace.output)

    def _before(self, name, x):
        return getattr(self, f"{name}_norm")(x) if self.config.norm == "pre" else x

    def _after(self, name, x, update) -> tuple[Tensor, Tensor]:
        total = x + self.dropout(update) if self.config.residual else update
        return total, getattr(self, f"{name}_norm")(total) if self.config.norm == "post" else total


class EncoderBlock(Block):
    """Self-attention, then feed-forward, each added to its input (Vaswani et al., 2017, section 3.1).

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float (batch, position, d_model).
        attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend.
        intervention: `BlockIntervention`, or None.

    Returns:
        `EncoderBlockTrace`.
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        super().__init__(config, ["attention"], name=name)

    def call(
        self, x: Tensor, attention_mask: Tensor | None, intervention: BlockIntervention | None = None
    ) -> EncoderBlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patch(x, change.resid_pre)
        read, attention, total, mid = self._attend(
            "attention", x, None, attention_mask, change.self_attention
        )
        mid = patch(mid, change.resid_mid)
        ffn_input, ffn, ffn_sum, post = self._feed_forward(mid)
        post = patch(post, change.resid_post)
        return EncoderBlockTrace(x, read, attention, total, mid, ffn_input, ffn, ffn_sum, post)


class DecoderBlock(Block):
    """Masked self-attention, cross-attention, feed-forward (Vaswani et al., 2017, section 3.1).

    Args:
        config: `TransformerConfig`; without an encoder there is no cross-attention.

    Call arguments:
        x: float (batch, position, d_model).
        self_attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend.
        memory: float (batch, key, d_model), the encoder's output; None without an encoder.
        cross_attention_mask: bool, broadcastable to (batch, head, query, key); None without an encoder.
        intervention: `BlockIntervention`, or None.

    Returns:
        `DecoderBlockTrace`.
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        cross = ["cross_attention"] if config.has_encoder else []
        super().__init__(config, ["self_attention", *cross], name=name)

    def call(
        self,
        x: Tensor,
        self_attention_mask: Tensor | None,
        memory: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        intervention: BlockIntervention | None = None,
    ) -> DecoderBlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patch(x, change.resid_pre)
        read, attention, total, mid = self._attend(
            "self_attention", x, None, self_attention_mask, change.self_attention
        )
        mid = patch(mid, change.resid_mid)
        cross, last = (None, None, None, None), mid
        if memory is not None:
            cross_input, cross_attention, cross_sum, last = self._attend(
                "cross_attention", mid, memory, cross_attention_mask, change.cross_attention
            )
            last = patch(last, change.resid_cross)
            cross = cross_input, cross_attention, cross_sum, last
        ffn_input, ffn, ffn_sum, post = self._feed_forward(last)
        post = patch(post, change.resid_post)
        return DecoderBlockTrace(x, read, attention, total, mid, *cross, ffn_input, ffn, ffn_sum, post)


def project(dense: keras.layers.Dense, x: Tensor) -> Tensor:
    """Return dense(x) of (batch, position, width) as a product of two matrices.

    On three axes TensorFlow computes shapes in ten small operations; for short texts they dominate.
    """
    rows = dense(ops.reshape(x, (-1, x.shape[-1])))
    return ops.reshape(rows, (-1, ops.shape(x)[1], rows.shape[-1]))


def patch(resid: Tensor, change: Patch | None) -> Tensor:
    """Return the residual stream with a `Patch` applied, if there is one."""
    return resid if change is None else resid * change.gate + change.value


def layer_norm(name: str) -> keras.layers.LayerNormalization:
    """Return a layer normalisation (Ba et al., 2016)."""
    return keras.layers.LayerNormalization(epsilon=NORM_EPSILON, name=name)
