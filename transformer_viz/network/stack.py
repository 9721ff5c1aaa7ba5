"""A stack of a Transformer: the encoder or the decoder, block after block."""

import operator
from typing import Any, NamedTuple

import keras

from transformer_viz.network.attention import (
    NOT_IN_ATTENTION,
    PositionsInAttention,
    relative_bias,
    rotation,
)
from transformer_viz.network.block import Block
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import normalisation, table
from transformer_viz.network.tensors import BlockIntervention, BlockTrace, KVCache, Tensor, mapped

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


class StackTrace(NamedTuple):
    """The traces of the blocks, and what comes out; empty where a model has no such stack."""

    blocks: tuple[BlockTrace, ...] = ()
    bias: Tensor | None = None  # (batch or 1, head, query, key)  of relative positions, for all blocks
    output: Tensor = None  # (batch, position, d_model)  behind the last block, normalised


class Stack:
    """The blocks of an encoder or a decoder (Vaswani et al., 2017, section 3.1), and what they share.

    `Encoder` and `Decoder` in TensorFlow's tutorial, `h` and `ln_f` in nanoGPT. This is no layer of Keras
    itself, so that the names of parameters have no further part.

    Args:
        config: `TransformerConfig`.
        stack: "encoder" or "decoder".

    Attributes:
        blocks: `Block`s.
        parts: Its layers: the table of relative positions, the blocks, the last normalisation; None where
            it has none.
    """

    def __init__(self, config: TransformerConfig, stack: str):
        self.config, self.stack = config, stack
        self.relative_bias = self.norm = None
        if config.has_relative_bias:
            self.relative_bias = table(
                config.relative_buckets, config.num_heads, name=f"{stack}_relative_bias"
            )
        self.blocks = [Block(config, stack, i, name=f"{stack}_{i}") for i in range(config.stacks[stack])]
        if config.final_norm:
            self.norm = normalisation(config, f"{stack}_norm")
        self.parts = self.relative_bias, self.blocks, self.norm

    def build(self) -> None:
        """Create the parameters; all sizes are known from the config."""
        for part in (self.relative_bias, *self.blocks, self.norm):
            if part is not None:
                part.build((None, None, self.config.d_model))

    def __call__(
        self,
        x: Tensor,
        position_ids: Tensor,
        attention_mask: Tensor | None,
        full_attention_mask: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        intervention: BlockIntervention | None = None,
        past: KVCache | None = None,
    ) -> StackTrace:
        """Run one block after the other.

        Args:
            x: float (batch, position, d_model).
            position_ids: int (batch or 1, key), positions of the tokens of `past` and of `x`.
            attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend: for the
                self-attention. None: no mask.
            full_attention_mask: The same for `config.unlimited_layers`.
            memory: float (batch, key, d_model), the encoder's output, for a decoder that has
                cross-attention.
            cross_attention_mask: bool, broadcastable to (batch, head, query, key).
            intervention: `BlockIntervention` whose tensors have a leading layer axis; None: none.
            past: `KVCache` of all blocks, with a leading layer axis, of the tokens in front of `x`.
        """
        query_ids = position_ids if past is None else position_ids[:, ops.shape(past.key)[3] :]
        bias = self._bias(query_ids, position_ids)
        places = self._places(query_ids, bias)
        intervention, past = (mapped(ops.unstack, each) for each in (intervention, past))
        blocks = []
        for layer, block in enumerate(self.blocks):
            own = layer in self.config.unlimited_layers
            mask = full_attention_mask if own else attention_mask
            change, before = (mapped(operator.itemgetter(layer), each) for each in (intervention, past))
            trace = block(x, mask, memory, cross_attention_mask, change, past=before, places=places[layer])
            x = trace.resid_post
            blocks.append(trace._replace(self_attention_mask=mask) if own else trace)
        return StackTrace(tuple(blocks), bias, x if self.norm is None else self.norm(x))

    def _bias(self, query_ids, key_ids):
        """Return the relative position bias of all blocks."""
        if self.relative_bias is None:
            return None
        causal = self.stack == "decoder" or self.config.causal
        return relative_bias(self.config, self.relative_bias.embeddings, query_ids, key_ids, causal=causal)

    def _places(self, query_ids, bias) -> list[PositionsInAttention]:
        """Return what positions do inside the self-attention of each block."""
        config, places = self.config, NOT_IN_ATTENTION._replace(bias=bias)
        layers = range(len(self.blocks))
        if config.positions != "rotary":
            return [places for _ in layers]
        used = [config.rotary_of(layer) for layer in layers]
        rotations = {each: rotation(query_ids, config.rotary_width, *each) for each in dict.fromkeys(used)}
        return [places._replace(rotation=rotations[each]) for each in used]
