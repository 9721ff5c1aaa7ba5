"""The layers of a Transformer: each returns its intermediate tensors and takes interventions as tensors."""

from typing import Any

import keras

from transformer_viz.network.attention import MultiHeadAttention, Shape, project
from transformer_viz.values.config import NORM_EPSILON, TransformerConfig
from transformer_viz.values.tensors import (
    AttentionTrace,
    BlockIntervention,
    DecoderBlockTrace,
    EncoderBlockTrace,
    FeedForwardTrace,
    Past,
    Patch,
    Tensor,
)

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


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
        self, name, x, source, attention_mask, intervention, past=None
    ) -> tuple[Tensor, AttentionTrace, Tensor, Tensor]:
        """Run one attention layer; return its input, its trace, the sum, and the residual stream after it."""
        read = self._before(name, x)
        source = read if source is None else source
        trace = getattr(self, name)(read, source, attention_mask, intervention, past)
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
        past: `Past` of the tokens in front of `x`, which are not computed again; None: none.

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
        past: Past | None = None,
    ) -> DecoderBlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patch(x, change.resid_pre)
        read, attention, total, mid = self._attend(
            "self_attention", x, None, self_attention_mask, change.self_attention, past
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


def patch(resid: Tensor, change: Patch | None) -> Tensor:
    """Return the residual stream with a `Patch` applied, if there is one."""
    return resid if change is None else resid * change.gate + change.value


def layer_norm(name: str) -> keras.layers.LayerNormalization:
    """Return a layer normalisation (Ba et al., 2016)."""
    return keras.layers.LayerNormalization(epsilon=NORM_EPSILON, name=name)
