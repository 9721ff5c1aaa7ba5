"""A block of a Transformer: sub-layers with their residual connections and normalisation."""

from typing import Any, NamedTuple

import keras

from transformer_viz.network.attention import (
    NOT_IN_ATTENTION,
    MultiHeadAttention,
    PositionsInAttention,
    changed,
)
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import Dropout, FeedForward, Shape, normalisation
from transformer_viz.network.shapes import SELF_ATTENTION, reads_normalised
from transformer_viz.network.tensors import (
    BlockIntervention,
    BlockTrace,
    FeedForwardTrace,
    KVCache,
    Patch,
    Tensor,
)

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


class SubLayerTrace(NamedTuple):
    """What a sub-layer reads, computes and adds; all None where a block has no such sub-layer."""

    input: Tensor | None = None  # (batch, position, d_model)  what the body reads
    body: Any = None  # `AttentionTrace` or `FeedForwardTrace`
    added: Tensor | None = None  # (batch, position, d_model)  the body's output, if it is normalised
    sum: Tensor | None = None  # (batch, position, d_model)
    resid: Tensor | None = None  # (batch, position, d_model)  the residual stream behind it


class SubLayer:
    """Attention or a feed-forward layer, with a residual connection around it: x + body(norm(x)).

    Normalisation stands in front of the body ("pre": Xiong et al., 2020), behind the sum ("post": Vaswani et
    al., 2017, section 3.1), or in front of the body and behind it ("sandwich": Ding et al., 2021). This is no
    layer of Keras itself, so that the names of parameters have no further part.

    Args:
        config: `TransformerConfig`.
        layer: Number of the block in its stack, from 0.
        body: The layer inside.
        dropout: Dropout on what is added.
    """

    def __init__(
        self, config: TransformerConfig, layer: int, body: MultiHeadAttention | FeedForward, dropout: Dropout
    ):
        self.body, self.dropout, self.residual = body, dropout, config.residual
        self.input_norm = self.output_norm = self.sum_norm = None
        if reads_normalised(config, body.name, layer):
            self.input_norm = normalisation(config, f"{body.name}_norm")
        if config.norm == "sandwich":
            self.output_norm = normalisation(config, f"{body.name}_output_norm")
        if config.norm == "post":
            self.sum_norm = normalisation(config, f"{body.name}_norm")

    @property
    def norms(self) -> list[keras.layers.Layer]:
        """Its layers of normalisation."""
        return [each for each in (self.input_norm, self.output_norm, self.sum_norm) if each is not None]

    def __call__(
        self,
        x: Tensor,
        *,
        read: Tensor | None = None,
        residual: Tensor | None = None,
        gate: Tensor | None = None,
        **arguments: Any,
    ) -> SubLayerTrace:
        """Add to the residual stream.

        Args:
            x: float (batch, position, d_model), the residual stream.
            read: What the body reads, before normalisation; None: `x`.
            residual: Factor of `x` in the sum; None: 1.
            gate: Factor of what is added to it; None: 1.
            **arguments: Further arguments of the body.
        """
        read = x if read is None else read
        read = read if self.input_norm is None else self.input_norm(read)
        body, added = self.body(read, **arguments), None
        if self.output_norm is None:
            total = changed(body.output, gate, None)
            body = body._replace(output=total)
        else:
            total = added = changed(self.output_norm(body.output), gate, None)
        if self.residual:
            total = changed(x, residual, None) + self.dropout(total)
        resid = total if self.sum_norm is None else self.sum_norm(total)
        return SubLayerTrace(read, body, added, total, resid)


class Block(keras.layers.Layer):
    """Self-attention, in a decoder that reads an encoder cross-attention, and a feed-forward layer.

    Vaswani et al., 2017, section 3.1, figure 1; `EncoderLayer` and `DecoderLayer` in TensorFlow's tutorial,
    `TransformerEncoder` and `TransformerDecoder` in keras-hub, `Block` in nanoGPT.

    Args:
        config: `TransformerConfig`.
        stack: "encoder" or "decoder".
        layer: Number of the block in its stack, from 0.

    Call arguments:
        x: float (batch, position, d_model).
        attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend: for the
            self-attention, in a decoder also called look-ahead mask. None: no mask.
        memory: float (batch, key, d_model), the encoder's output, for a decoder that has cross-attention.
        cross_attention_mask: bool, broadcastable to (batch, head, query, key); None: no mask.
        intervention: `BlockIntervention`, or None.
        past: `KVCache` of the tokens in front of `x`, which are not computed again; None: none.
        places: `PositionsInAttention` of the self-attention.

    Returns:
        `BlockTrace`.
    """

    def __init__(self, config: TransformerConfig, stack: str, layer: int = 0, *, name: str | None = None):
        super().__init__(name=name)
        self.config = config
        ffn = [FeedForward(config, name="ffn")] if config.ffn_dim else []
        dropout = Dropout(config.dropout, name="dropout")
        attentions = [MultiHeadAttention(config, name=SELF_ATTENTION[stack])]
        if stack == "decoder" and config.has_encoder:
            attentions.append(MultiHeadAttention(config, name="cross_attention"))
        parts = [SubLayer(config, layer, body, dropout) for body in [*attentions, *ffn]]
        self.self_attention = parts[0]
        self.cross_attention = parts[1] if len(attentions) == 2 else None
        self.ffn = parts[-1] if ffn else None
        # Keras finds the layers here, and checkpoints number the variables in this order.
        self.parts = [*ffn, dropout, *attentions, *(norm for part in parts for norm in part.norms)]

    def build(self, x_shape: Shape) -> None:
        """Create the parameters; all sizes are known from the config."""
        for part in self.parts:
            part.build(x_shape)

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None,
        memory: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        intervention: BlockIntervention | None = None,
        past: KVCache | None = None,
        places: PositionsInAttention = NOT_IN_ATTENTION,
    ) -> BlockTrace:
        """Run the block; see the class."""
        change = intervention or BlockIntervention()
        x = patched(x, change.resid_pre)
        own = self.self_attention(
            x,
            residual=change.residual,
            attention_mask=attention_mask,
            intervention=change.self_attention,
            past=past,
            places=places,
        )
        mid = last = patched(own.resid, change.resid_mid)
        cross = SubLayerTrace()
        if self.cross_attention is not None:
            cross = self.cross_attention(
                mid,
                residual=change.residual,
                source=memory,
                attention_mask=cross_attention_mask,
                intervention=change.cross_attention,
            )
            last = patched(cross.resid, change.resid_cross)
        ffn = self._feed_forward(last, x, change)
        return BlockTrace(
            resid_pre=x,
            self_attention_input=own.input,
            self_attention=own.body,
            self_attention_sum=own.sum,
            resid_mid=mid,
            cross_attention_input=cross.input,
            cross_attention=cross.body,
            cross_attention_sum=cross.sum,
            resid_cross=None if self.cross_attention is None else last,
            ffn_input=ffn.input,
            ffn=ffn.body,
            ffn_sum=ffn.sum,
            resid_post=patched(ffn.resid, change.resid_post),
            self_attention_added=own.added,
            cross_attention_added=cross.added,
            ffn_added=ffn.added,
        )

    def _feed_forward(self, x, before, change) -> SubLayerTrace:
        """Return the trace of the last sub-layer, which may read the stream `before` the attention."""
        if self.ffn is None:
            return SubLayerTrace(x, FeedForwardTrace(x[..., :0], ops.zeros_like(x)), None, x, x)
        if self.config.parallel:  # `x` has what is left of the stream before both already
            return self.ffn(x, read=before, gate=change.ffn_gate)
        return self.ffn(x, residual=change.residual, gate=change.ffn_gate)


def patched(resid: Tensor, change: Patch | None) -> Tensor:
    """Return the residual stream with a `Patch` applied, if there is one."""
    return resid if change is None else changed(resid, change.gate, change.value)
