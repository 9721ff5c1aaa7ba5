"""The blocks of a Transformer: each returns its intermediate tensors and takes interventions as tensors."""

import keras

from transformer_viz.network.attention import NOT_IN_ATTENTION, MultiHeadAttention, PositionsInAttention
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import Dropout, FeedForward, Shape, normalisation
from transformer_viz.network.shapes import norm_names
from transformer_viz.network.tensors import (
    AttentionTrace,
    BlockIntervention,
    DecoderBlockTrace,
    EncoderBlockTrace,
    FeedForwardTrace,
    KVCache,
    Patch,
    Tensor,
)


class Block(keras.layers.Layer):
    """Base class of encoder and decoder blocks: sub-layers with residual connections and normalisation.

    Args:
        config: `TransformerConfig`.
        attentions: Names of the attention layers, in order of computation.
        layer: Number of the block in its stack, from 0.
    """

    def __init__(
        self, config: TransformerConfig, attentions: list[str], layer: int, *, name: str | None = None
    ):
        super().__init__(name=name)
        self.config = config
        self.ffn = FeedForward(config, name="ffn")
        self.dropout = Dropout(config.dropout, name="dropout")
        self.sublayers = [*attentions, "ffn"] if config.ffn_dim else attentions
        for attention in attentions:
            setattr(self, attention, MultiHeadAttention(config, name=attention))
        self.norms = [norm for sublayer in self.sublayers for norm in norm_names(config, sublayer, layer)]
        for norm in self.norms:
            setattr(self, norm, normalisation(config, norm))

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        for part in (*self.sublayers, *self.norms):
            getattr(self, part).build(x_shape)

    def _attend(
        self, name, x, source, attention_mask, intervention, residual, past=None, places=NOT_IN_ATTENTION
    ) -> tuple[Tensor, AttentionTrace, Tensor, Tensor, Tensor | None]:
        """Run one attention layer.

        Returns its input, its trace, the sum, the residual stream after it, and what was added to the stream
        if that is not the output of the layer.
        """
        read = self._before(name, x)
        source = read if source is None else source
        trace = getattr(self, name)(read, source, attention_mask, intervention, past, places)
        return read, trace, *self._after(name, x, trace.output, residual)

    def _feed_forward(
        self, x, before, residual
    ) -> tuple[Tensor, FeedForwardTrace, Tensor, Tensor, Tensor | None]:
        """Run the feed-forward layer on `x`, or on the stream `before` attention; return the same five."""
        if not self.config.ffn_dim:
            return x, self.ffn(x), x, x, None
        read = self._before("ffn", before if self.config.parallel else x)
        trace = self.ffn(read)
        if self.config.parallel:  # the stream before both is in `x` already
            residual = None
        return read, trace, *self._after("ffn", x, trace.output, residual)

    def _before(self, name, x):
        norm = f"{name}_norm"
        return getattr(self, norm)(x) if self.config.normalises_inputs and norm in self.norms else x

    def _after(self, name, x, update, residual) -> tuple[Tensor, Tensor, Tensor | None]:
        added = None
        if self.config.norm == "sandwich":
            update = added = getattr(self, f"{name}_output_norm")(update)
        kept = x if residual is None else x * residual
        total = kept + self.dropout(update) if self.config.residual else update
        return total, getattr(self, f"{name}_norm")(total) if self.config.norm == "post" else total, added


class EncoderBlock(Block):
    """Self-attention, then feed-forward, each added to its input (Vaswani et al., 2017, section 3.1).

    Args:
        config: `TransformerConfig`.
        layer: Number of the block, from 0.

    Call arguments:
        x: float (batch, position, d_model).
        attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend.
        intervention: `BlockIntervention`, or None.
        places: `PositionsInAttention`.

    Returns:
        `EncoderBlockTrace`.
    """

    def __init__(self, config: TransformerConfig, layer: int = 0, *, name: str | None = None):
        super().__init__(config, ["attention"], layer, name=name)

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None,
        intervention: BlockIntervention | None = None,
        places: PositionsInAttention = NOT_IN_ATTENTION,
    ) -> EncoderBlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patch(x, change.resid_pre)
        read, attention, total, mid, added = self._attend(
            "attention", x, None, attention_mask, change.self_attention, change.residual, places=places
        )
        mid = patch(mid, change.resid_mid)
        ffn_input, ffn, ffn_sum, post, ffn_added = self._feed_forward(mid, x, change.residual)
        post = patch(post, change.resid_post)
        return EncoderBlockTrace(
            x,
            read,
            attention,
            total,
            mid,
            ffn_input,
            ffn,
            ffn_sum,
            post,
            attention_added=added,
            ffn_added=ffn_added,
        )


class DecoderBlock(Block):
    """Masked self-attention, cross-attention, feed-forward (Vaswani et al., 2017, section 3.1).

    Args:
        config: `TransformerConfig`; without an encoder there is no cross-attention.
        layer: Number of the block, from 0.

    Call arguments:
        x: float (batch, position, d_model).
        self_attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend.
        memory: float (batch, key, d_model), the encoder's output; None without an encoder.
        cross_attention_mask: bool, broadcastable to (batch, head, query, key); None without an encoder.
        intervention: `BlockIntervention`, or None.
        past: `KVCache` of the tokens in front of `x`, which are not computed again; None: none.
        places: `PositionsInAttention` of the self-attention.

    Returns:
        `DecoderBlockTrace`.
    """

    def __init__(self, config: TransformerConfig, layer: int = 0, *, name: str | None = None):
        cross = ["cross_attention"] if config.has_encoder else []
        super().__init__(config, ["self_attention", *cross], layer, name=name)

    def call(
        self,
        x: Tensor,
        self_attention_mask: Tensor | None,
        memory: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        intervention: BlockIntervention | None = None,
        past: KVCache | None = None,
        places: PositionsInAttention = NOT_IN_ATTENTION,
    ) -> DecoderBlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patch(x, change.resid_pre)
        read, attention, total, mid, added = self._attend(
            "self_attention",
            x,
            None,
            self_attention_mask,
            change.self_attention,
            change.residual,
            past,
            places,
        )
        mid = patch(mid, change.resid_mid)
        cross, last, cross_added = (None, None, None, None), mid, None
        if memory is not None:
            cross_input, cross_attention, cross_sum, last, cross_added = self._attend(
                "cross_attention", mid, memory, cross_attention_mask, change.cross_attention, change.residual
            )
            last = patch(last, change.resid_cross)
            cross = cross_input, cross_attention, cross_sum, last
        ffn_input, ffn, ffn_sum, post, ffn_added = self._feed_forward(last, x, change.residual)
        post = patch(post, change.resid_post)
        return DecoderBlockTrace(
            x,
            read,
            attention,
            total,
            mid,
            *cross,
            ffn_input,
            ffn,
            ffn_sum,
            post,
            self_attention_added=added,
            cross_attention_added=cross_added,
            ffn_added=ffn_added,
        )


def patch(resid: Tensor, change: Patch | None) -> Tensor:
    """Return the residual stream with a `Patch` applied, if there is one."""
    return resid if change is None else resid * change.gate + change.value
