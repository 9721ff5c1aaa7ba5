"""Scaled dot-product and multi-head attention, which return all their tensors; positions inside of them."""

import math
from typing import Any, NamedTuple

import keras

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import Shape, dense, project
from transformer_viz.network.positions import relative_buckets
from transformer_viz.network.tensors import AttentionTrace, Intervention, KVCache, Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


class PositionsInAttention(NamedTuple):
    """What the positions of tokens do inside self-attention, where they are not added to the embeddings."""

    rotation: tuple[Tensor, Tensor] | None = None  # cosines and sines: (batch or 1, 1, position, width / 2)
    bias: Tensor | None = None  # (batch or 1, head, query, key)  added to the scores


NOT_IN_ATTENTION = PositionsInAttention()
"""Of a model that adds its positions to the embeddings."""


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    intervention: Intervention | None = None,
    bias: Tensor | None = None,
    cap: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return scaled dot-product attention (Vaswani et al., 2017, eq. 1) step by step.

    It is `scaled_dot_product_attention` of TensorFlow's tutorial and of PyTorch, with all that is computed:
    scores = capped(query @ key^T / sqrt(head_dim)) + bias; weights = softmax(scores);
    context = weights @ value.

    Args:
        query: (batch, head, query, head_dim).
        key: (batch, head, key, head_dim).
        value: (batch, head, key, value_dim).
        attention_mask: bool, True = may attend; broadcastable to (batch, head, query, key). None: no mask,
            which saves a pass over the scores.
        intervention: `Intervention` to apply, or None.
        bias: The bias of relative positions, (batch or 1, head, query, key); None: none.
        cap: `TransformerConfig.score_cap`.

    Returns:
        scores (batch, head, query, key), before mask and intervention; weights (batch, head, query, key),
        rows summing to 1, or to 0 if fully masked; context (batch, head, query, value_dim).
    """
    change = intervention or Intervention()
    products = ops.matmul(query / math.sqrt(key.shape[-1]), ops.swapaxes(key, -1, -2))
    scores = capped(products, cap) if bias is None else capped(products, cap) + bias
    asked, allowed = _changed_scores(scores, products, attention_mask, change, bias, cap)
    weights = changed(masked_softmax(asked, allowed), change.weight_gate, change.weight_patch)
    context = changed(ops.matmul(weights, value), change.head_gate, change.context_patch)
    return scores, weights, context


def masked_softmax(scores: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return the softmax over the keys that may be attended to; without any, a row of zeros."""
    if attention_mask is None:
        return ops.softmax(scores, axis=-1)
    weights = ops.softmax(ops.where(attention_mask, scores, masked_score(scores)), axis=-1)
    return ops.where(attention_mask, weights, 0.0)


def masked_score(scores: Tensor) -> float:
    """Return the value that replaces masked scores in the softmax: about the lowest of their type.

    It is finite, so that a fully masked row is not NaN.
    """
    return -65504.0 if keras.backend.standardize_dtype(scores.dtype) == "float16" else -3.38e38


def changed(x: Tensor, gate: Tensor | None, patch: Tensor | None) -> Tensor:
    """Return x * gate + patch; without either, that part is left out."""
    x = x if gate is None else x * gate
    return x if patch is None else x + patch


def capped(x: Tensor, cap: float | None) -> Tensor:
    """Return cap * tanh(x / cap), which is between -cap and cap; without a cap, `x` itself."""
    return x if cap is None else cap * ops.tanh(x / cap)


def _changed_scores(scores, products, attention_mask, change, bias, cap) -> tuple[Tensor, Tensor | None]:
    """Return the scores and the mask after the score gate and the score bias of an `Intervention`."""
    if change.score_gate is not None:
        scores = capped(products * change.score_gate, cap)
        if bias is not None:
            scores = scores + ops.where(change.score_gate == 0, 0.0, bias)
    if change.score_bias is None:
        return scores, attention_mask
    kept = change.score_bias > -math.inf
    allowed = kept if attention_mask is None else ops.logical_and(attention_mask, kept)
    return scores + change.score_bias, allowed


class MultiHeadAttention(keras.layers.Layer):
    """Multi-head attention (Vaswani et al., 2017, section 3.2.2) that returns all its tensors.

    The layers query, key, value and output are the paper's W^Q, W^K, W^V and W^O: `wq`, `wk`, `wv` and
    `dense` in TensorFlow's tutorial, `c_attn`, which is three of them, and `c_proj` in nanoGPT.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float (batch, query, d_model), the queries' side.
        source: float (batch, key, d_model), the keys' and values' side; None: `x`, for self-attention.
        attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend; None: no mask.
        intervention: `Intervention`, or None.
        past: `KVCache` of the keys in front of those of `source`, or None.
        places: `PositionsInAttention` of self-attention.

    Returns:
        `AttentionTrace`; its query and key are normalised and rotated, where the model does that, and keys
        and values that several heads share are repeated for each.
    """

    def __init__(self, config: TransformerConfig, *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        shared, bias = config.num_kv_heads, config.attention_bias
        self.query_dense = dense(config.num_heads * config.head_dim, bias=bias, name="query")
        self.key_dense = dense(shared * config.head_dim, bias=bias, name="key")
        self.value_dense = dense(shared * config.value_dim, bias=bias, name="value")
        self.output_dense = None
        if config.output_projection:
            self.output_dense = dense(config.d_model, bias=config.output_bias, name="output")
        if config.qk_norm:
            epsilon = config.norm_epsilon
            self.query_norm = keras.layers.RMSNormalization(epsilon=epsilon, name="query_norm")
            self.key_norm = keras.layers.RMSNormalization(epsilon=epsilon, name="key_norm")

    def build(self, x_shape: Shape, source_shape: Shape | None = None) -> None:
        """Create the parameters; all sizes are known from the config."""
        config = self.config
        for each in (self.query_dense, self.key_dense, self.value_dense):
            each.build((None, None, config.d_model))
        if self.output_dense is not None:
            self.output_dense.build((None, None, config.num_heads * config.value_dim))
        if config.qk_norm:
            self.query_norm.build((None, None, None, config.head_dim))
            self.key_norm.build((None, None, None, config.head_dim))

    def call(
        self,
        x: Tensor,
        source: Tensor | None = None,
        attention_mask: Tensor | None = None,
        intervention: Intervention | None = None,
        past: KVCache | None = None,
        places: PositionsInAttention = NOT_IN_ATTENTION,
    ) -> AttentionTrace:
        """Compute attention; see the class."""
        config, source = self.config, x if source is None else source
        query = split_heads(project(self.query_dense, x), config.num_heads)
        key = split_heads(project(self.key_dense, source), config.num_kv_heads)
        value = split_heads(project(self.value_dense, source), config.num_kv_heads)
        if config.qk_norm:
            query, key = self.query_norm(query), self.key_norm(key)
        unrotated = None
        if places.rotation is not None:
            unrotated = query
            query, key = rotate(query, places.rotation), rotate(key, places.rotation)
        if config.num_kv_heads != config.num_heads:
            times = config.num_heads // config.num_kv_heads
            key, value = ops.repeat(key, times, axis=1), ops.repeat(value, times, axis=1)
        if past is not None:
            key, value = (ops.concatenate(sides, axis=2) for sides in zip(past, (key, value), strict=True))
        scores, weights, context = attend(
            query, key, value, attention_mask, intervention, places.bias, config.score_cap
        )
        joined = ops.swapaxes(context, 1, 2)
        joined = ops.reshape(joined, (-1, ops.shape(x)[1], config.num_heads * config.value_dim))
        output = joined if self.output_dense is None else project(self.output_dense, joined)
        return AttentionTrace(query, key, value, scores, weights, context, output, unrotated)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Return (batch, position, num_heads * width) as (batch, head, position, width)."""
    split = ops.reshape(x, (-1, ops.shape(x)[1], num_heads, x.shape[-1] // num_heads))
    return ops.swapaxes(split, 1, 2)


def rotation(
    position_ids: Tensor, width: int, base: float, scaling: tuple[float, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines for positions (Su et al., 2021, section 3.2.2).

    The pair i of numbers turns by position * base^(-2i / width) / stretch_i.

    Args:
        position_ids: int (batch or 1, position).
        width: Numbers of a head that turn.
        base: Base of the wavelengths.
        scaling: `TransformerConfig.rotary_scaling`, (width / 2), or () for none.

    Returns:
        Two of float32 (batch or 1, 1, position, width / 2).
    """
    speed = base ** (-ops.arange(0, width, 2, dtype="float32") / width)
    if scaling:
        speed = speed / ops.convert_to_tensor(scaling, dtype="float32")
    angle = ops.cast(position_ids, "float32")[:, None, :, None] * speed
    return ops.cos(angle), ops.sin(angle)


def rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Return queries or keys rotated by their positions (Su et al., 2021, section 3.2.2).

    The numbers i and i + width / 2 are a pair, as in GPT-NeoX; those beyond the width stay.

    Args:
        x: (batch, head, position, head_dim).
        rotation: Cosines and sines.
    """
    cos, sin = rotation
    half = cos.shape[-1]
    first, second = x[..., :half], x[..., half : 2 * half]
    parts = [first * cos - second * sin, second * cos + first * sin, x[..., 2 * half :]]
    return ops.concatenate(parts, axis=-1)


def relative_bias(
    config: TransformerConfig, table: Tensor, query_ids: Tensor, key_ids: Tensor, *, causal: bool
) -> Tensor:
    """Return the relative position bias of self-attention (Raffel et al., 2020, section 2.1).

    Args:
        config: `TransformerConfig`.
        table: float (relative_buckets, num_heads).
        query_ids: int (batch or 1, query), their positions.
        key_ids: int (batch or 1, key).
        causal: Whether the stack has a causal mask.

    Returns:
        float (batch or 1, head, query, key).
    """
    reach = config.relative_reach
    buckets = relative_buckets(config.relative_buckets, reach, causal=causal)
    distance = key_ids[:, None, :] - query_ids[:, :, None]
    bias = ops.take(ops.take(table, buckets, axis=0), ops.clip(distance, -reach, reach) + reach, axis=0)
    return ops.transpose(bias, (0, 3, 1, 2))
