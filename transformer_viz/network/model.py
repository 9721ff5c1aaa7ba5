"""The Transformer: `trace` returns all its tensors, `call` returns its logits."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import keras

from transformer_viz.network.attention import NOT_IN_ATTENTION, PositionsInAttention, Shape, dense, project
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.head import ClassHead, VocabularyHead
from transformer_viz.network.initial import initial
from transformer_viz.network.layers import DecoderBlock, Dropout, EncoderBlock, normalisation
from transformer_viz.network.masks import causal_mask, padding_mask, window_mask
from transformer_viz.network.positions import position_table
from transformer_viz.network.relative import relative_bias
from transformer_viz.network.rotary import rotation
from transformer_viz.network.tensors import BlockIntervention, KVCache, ModelTrace, Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

HEAD = "head"
"""Name of the layer that holds the output layers; the names of parameters leave it out."""


@keras.saving.register_keras_serializable("transformer_viz")
class Transformer(keras.Model):
    """A Transformer (Vaswani et al., 2017), built from one config.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        token_ids: int32 (batch, position), id 0 is padding; for an encoder-decoder the pair of these and
            target_ids, int32 (batch, target); or a dict of arguments of `trace`.

    Returns:
        Logits, before softmax or sigmoid: float (batch, num_outputs) for a classifier. For a decoder (batch,
        position, num_outputs), of the token after each position; for a masked language model the same, of
        the token at each position.

    >>> from transformer_viz.network.presets import PRESETS
    >>> model = Transformer(PRESETS["attention-only"])
    >>> model.count_params()
    2609281
    """

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        super().__init__(**kwargs)
        self.config = config
        translates, depth = config.architecture == "encoder-decoder", config.stacks
        self.token_embedding = self._embedding("token_embedding", config.vocab_size)
        self.target_token_embedding = None
        if translates and not config.tie_embeddings:
            self.target_token_embedding = self._embedding("target_token_embedding", config.target_vocab_size)
        self.position_embedding = self.target_position_embedding = None
        if config.positions == "learned":
            rows = config.max_len + config.padding_position
            self.position_embedding = self._embedding("position_embedding", rows)
            if translates:
                rows = config.target_max_len + config.padding_position
                self.target_position_embedding = self._embedding("target_position_embedding", rows)
        self.segment_embedding = None
        if config.segments:
            self.segment_embedding = self._embedding("segment_embedding", config.segments)
        normed = ("", "target_")[: len(depth)] if config.embedding_norm else ()
        self.embedding_norms = {side: normalisation(config, f"{side}embedding_norm") for side in normed}
        projected = ("", "target_")[: len(depth)] if config.projects_embeddings else ()
        self.embedding_projections = {
            side: dense(config.d_model, bias=True, name=f"{side}embedding_projection") for side in projected
        }
        self.embedding_dropout = Dropout(config.embedding_dropout, name="embedding_dropout")
        stacks = depth if config.has_relative_bias else ()
        self.relative_biases = {
            stack: keras.layers.Embedding(
                config.relative_buckets, config.num_heads, name=f"{stack}_relative_bias"
            )
            for stack in stacks
        }
        self.encoder = [EncoderBlock(config, i, name=f"encoder_{i}") for i in range(depth.get("encoder", 0))]
        self.decoder = [DecoderBlock(config, i, name=f"decoder_{i}") for i in range(depth.get("decoder", 0))]
        normed = depth if config.final_norm else ()
        self.norms = {stack: normalisation(config, f"{stack}_norm") for stack in normed}
        self.vocabulary_head = VocabularyHead(config, name=HEAD) if config.predicts_tokens else None
        self.class_head = None
        if not config.predicts_tokens and config.output != "none":
            self.class_head = ClassHead(config, name=HEAD)
        self.build((None, None))

    def build(self, token_ids_shape: Shape) -> None:
        """Create all parameters; all sizes are known from the config."""
        embeddings = (
            self.token_embedding,
            self.target_token_embedding,
            self.position_embedding,
            self.target_position_embedding,
            self.segment_embedding,
        )
        for embedding in (*embeddings, *self.relative_biases.values()):
            if embedding is not None:
                embedding.build((None, None))
        for layer in (*self.embedding_norms.values(), *self.embedding_projections.values()):
            layer.build((None, None, self.config.embedding_dim))
        stream = (None, None, self.config.d_model)
        layers = [*self.encoder, *self.decoder, *self.norms.values()]
        for layer in (*layers, self.vocabulary_head, self.class_head):
            if layer is not None:
                layer.build(stream)

    def call(
        self, token_ids: Tensor | Sequence[Tensor] | dict[str, Any], training: bool | None = None
    ) -> Tensor:
        """Return the logits; the compiled graph omits tensors that only `trace` returns.

        `training` reaches the dropout layers through Keras' call context; `fit` passes it only to models with
        this argument.
        """
        if isinstance(token_ids, dict):
            return self.trace(**token_ids).logits
        return self.trace(*(token_ids if isinstance(token_ids, list | tuple) else (token_ids,))).logits

    def trace(  # noqa: PLR0913  one argument per intervention
        self,
        token_ids: Tensor,
        target_ids: Tensor | None = None,
        *,
        attention_mask: Tensor | None = None,
        unlimited_mask: Tensor | None = None,
        target_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        target_position_ids: Tensor | None = None,
        position_table: Tensor | None = None,
        target_position_table: Tensor | None = None,
        output_positions: Tensor | None = None,
        interventions: Sequence[BlockIntervention | None] | None = None,
    ) -> ModelTrace:
        """Run one forward pass and return all its tensors.

        Args:
            token_ids: int32 (batch, position).
            target_ids: int32 (batch, target), the decoder input of an encoder-decoder.
            attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend: for the
                self-attention over `token_ids`. None: the model's own.
            unlimited_mask: The same for `config.unlimited_layers`. None: `attention_mask`, if that is given.
            target_attention_mask: The same for the self-attention over `target_ids`.
            cross_attention_mask: The same for the cross-attention.
            position_ids: int32 (batch or 1, position), rows of the table. None: 0, 1, 2, ..., subject to
                `config.padding_position`.
            target_position_ids: The same for `target_ids`.
            position_table: float (any, embedding_dim), replacement of the model's own.
            target_position_table: The same for `target_ids`.
            output_positions: int32 (batch, any), positions whose logits are computed, for models that
                predict tokens. None: all.
            interventions: A `BlockIntervention` or None per block, the encoder's before the decoder's.

        Returns:
            `ModelTrace`.
        """
        changes = interventions or [None] * (len(self.encoder) + len(self.decoder))
        own_mask = attention_mask
        if attention_mask is None:
            attention_mask = self.self_mask(token_ids, causal=self.config.causal)
            own_mask = attention_mask if self._masks_anything else None
            if self.config.unlimited_layers and unlimited_mask is None:
                unlimited_mask = self.unlimited_mask(token_ids)
        if position_table is None:
            position_table = self.position_table()
        x, *embeddings = self._embed(token_ids, self.token_embedding, position_ids, position_table)
        first, count = next(iter(self.config.stacks)), len(self.encoder)
        unlimited_mask = own_mask if unlimited_mask is None else unlimited_mask
        masks = self._by_layer(first, own_mask, unlimited_mask)
        places = self._places(first, self._rows(token_ids, position_ids))
        x, encoder = self._encode(x, masks[:count], changes[:count], places[:count])
        memory = target_token = target_position = target_bias = None
        bias, masks, places = places[0].bias, masks[count:], places[count:]
        if target_ids is not None:
            memory = x
            if cross_attention_mask is None:
                cross_attention_mask = self.readable(token_ids)
            if target_attention_mask is None:
                target_attention_mask = self.self_mask(target_ids, causal=True)
            if target_position_table is None:
                target_position_table = self.target_position_table()
            embedding = self.target_token_embedding or self.token_embedding
            x, target_token, target_position, _ = self._embed(
                target_ids, embedding, target_position_ids, target_position_table, "target_"
            )
            places = self._places("decoder", self._rows(target_ids, target_position_ids))
            target_bias = places[0].bias
            masks = [target_attention_mask] * len(self.decoder)
        x, decoder = self._decode(x, masks, memory, cross_attention_mask, changes[count:], places)
        token, position, segment = embeddings
        return ModelTrace(
            token,
            position,
            attention_mask,
            target_token,
            target_position,
            target_attention_mask,
            cross_attention_mask,
            encoder,
            memory,
            decoder,
            x,
            *self._output(x, token_ids, output_positions),
            segment,
            bias,
            target_bias,
            None if self.config.score_cap is None else ops.full((1,), self.config.score_cap),
        )

    def memory(self, token_ids: Tensor) -> Tensor:
        """Return the output of the encoder: float (batch, position, d_model).

        Args:
            token_ids: int32 (batch, position).
        """
        x, *_ = self._embed(token_ids, self.token_embedding, None, self.position_table())
        mask = self.self_mask(token_ids, causal=False) if self._masks_anything else None
        places = self._places("encoder", self._rows(token_ids, None))
        count = len(self.encoder)
        return self._encode(x, [mask] * count, [None] * count, places)[0]

    def extend(
        self,
        token_ids: Tensor,
        past: KVCache,
        memory: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, KVCache]:
        """Run a decoder on new tokens alone, behind others whose keys and values are known.

        Args:
            token_ids: int32 (batch, new), none of them [PAD].
            past: `KVCache` of all blocks, with a leading layer axis; of 0 positions before the first token.
            memory: Result of `memory`, for an encoder-decoder.
            cross_attention_mask: bool (batch, 1, 1, key), which of its positions may be attended to.

        Returns:
            Logits of the token after the last one, float (batch, num_outputs), and the `past` that includes
            the new tokens.
        """
        config, first = self.config, ops.shape(past.key)[3]
        length = first + ops.shape(token_ids)[1]
        unlimited = mask = causal_mask(length, first)
        if config.window is not None:
            mask = ops.logical_and(mask, window_mask(length, config.window, first))
        masks = self._by_layer("decoder", mask, unlimited)
        table = self.position_table() if memory is None else self.target_position_table()
        embedding = (memory is not None and self.target_token_embedding) or self.token_embedding
        rows = ops.arange(length)[None] + config.padding_position
        side = "" if memory is None else "target_"
        x, *_ = self._embed(token_ids, embedding, rows[:, first:], table, side)
        known, places = [], self._places("decoder", rows[:, first:], rows)
        for block, mask, place, *before in zip(
            self.decoder, masks, places, *map(ops.unstack, past), strict=True
        ):
            trace = block(x, mask, memory, cross_attention_mask, past=KVCache(*before), places=place)
            x = trace.resid_post
            known.append((trace.self_attention.key, trace.self_attention.value))
        *_, logits = self._output(self._norm("decoder", x[:, -1:]), token_ids, None)
        return logits[:, 0], KVCache(*map(ops.stack, zip(*known, strict=True)))

    @property
    def _masks_anything(self):
        """Whether the first stack's self-attention can have a mask that is not all True."""
        config = self.config
        return config.mask_padding or config.causal or config.window is not None

    def self_mask(self, token_ids: Tensor, *, causal: bool) -> Tensor:
        """Return the model's own mask of self-attention: bool (batch, 1, query or 1, key)."""
        return self._self_mask(token_ids, self.config.window, causal=causal)

    def unlimited_mask(self, token_ids: Tensor) -> Tensor:
        """Return the same for `config.unlimited_layers`."""
        return self._self_mask(token_ids, None, causal=self.config.causal)

    def _self_mask(self, token_ids, window, *, causal):
        mask, length = self.readable(token_ids), ops.shape(token_ids)[1]
        if causal:
            mask = ops.logical_and(mask, causal_mask(length))
        if window is not None:
            mask = ops.logical_and(mask, window_mask(length, window))
        return mask

    def _by_layer(self, stack, limited, unlimited) -> list[Any]:
        """Return the mask of each block of a stack, of those with and without a window."""
        layers = range(self.config.stacks[stack])
        return [unlimited if layer in self.config.unlimited_layers else limited for layer in layers]

    def readable(self, token_ids: Tensor) -> Tensor:
        """Return which tokens may be attended to: bool (batch, 1, 1, key); not [PAD] if it is masked."""
        mask = padding_mask(token_ids, self.config.pad_id)
        return mask if self.config.mask_padding else ops.ones_like(mask)

    def position_ids(self, token_ids: Tensor) -> Tensor:
        """Return the row of the position table for each token: int (batch or 1, position)."""
        index = ops.arange(ops.shape(token_ids)[1])[None]
        if not self.config.padding_position:
            return index
        return ops.where(ops.not_equal(token_ids, self.config.pad_id), index + 1, 0)

    def position_table(self) -> Tensor:
        """Return the position table of the input: float (max_len, embedding_dim)."""
        return self._table(self.position_embedding, self.config.max_len)

    def target_position_table(self) -> Tensor:
        """Return the position table of an encoder-decoder's target: float (target_max_len, width)."""
        return self._table(self.target_position_embedding, self.config.target_max_len)

    def _table(self, embedding, length):
        if embedding is not None:
            return embedding.embeddings
        rows = length + self.config.padding_position
        kind = "none" if self.config.positions_in_attention else self.config.positions
        return position_table(kind, rows, self.config.embedding_dim)

    def _embedding(self, name, rows):
        width, values = self.config.embedding_dim, initial("uniform")
        return keras.layers.Embedding(rows, width, embeddings_initializer=values, name=name)

    def _embed(self, token_ids, embedding, position_ids, table, side=""):
        """Return the first residual stream, and its token, position and segment embeddings."""
        # A batch of a model made elsewhere is padded with an id that is no row of the table.
        rows = ops.maximum(token_ids, 0) if self.config.is_foreign else token_ids
        token = embedding(rows)
        if self.config.scale_embedding:
            token = token * self.config.d_model**0.5
        total, position, segment = token, None, None
        if not self.config.positions_in_attention:
            position_ids = self._rows(token_ids, position_ids)
            position = ops.cast(ops.take(table, position_ids, axis=0), token.dtype)
            total = token + position
        if self.segment_embedding is not None:
            segment = self.segment_embedding(self._segments(token_ids))
            total = total + segment
        if side in self.embedding_norms:
            total = self.embedding_norms[side](total)
        if side in self.embedding_projections:
            total = project(self.embedding_projections[side], total)
        return self.embedding_dropout(total), token, position, segment

    def _segments(self, token_ids):
        """Return the row of the segment table for each token: 1 behind the first `separator`, otherwise 0."""
        config, ends = self.config, ops.ones_like(token_ids, "int32")
        for number in config.separator:  # 1 behind each of its first tokens
            ends = ops.pad(ends * ops.cast(ops.equal(token_ids, number), "int32"), ((0, 0), (1, 0)))[:, :-1]
        is_second = ops.cumsum(ends, axis=-1) > 0 if config.separator else ends == 0
        return ops.cast(ops.logical_and(is_second, ops.not_equal(token_ids, config.pad_id)), "int32")

    def _rows(self, token_ids, position_ids):
        return self.position_ids(token_ids) if position_ids is None else position_ids

    def _places(self, stack, query_ids, key_ids=None) -> list[PositionsInAttention]:
        """Return what the positions of queries and keys do inside the self-attention of each block.

        The positions of both may be the same.
        """
        config, key_ids = self.config, query_ids if key_ids is None else key_ids
        places = NOT_IN_ATTENTION
        if config.has_relative_bias:
            table, causal = self.relative_biases[stack].embeddings, stack == "decoder" or config.causal
            places = PositionsInAttention(
                bias=relative_bias(config, table, query_ids, key_ids, causal=causal)
            )
        layers = range(config.stacks[stack])
        if config.positions != "rotary":
            return [places for _ in layers]
        used = [config.rotary_of(layer) for layer in layers]
        found = {
            each: places._replace(rotation=rotation(query_ids, config.rotary_width, *each))
            for each in dict.fromkeys(used)
        }
        return [found[each] for each in used]

    def _encode(self, x, masks, changes, places):
        """Return the residual stream after the encoder, and the traces of its blocks."""
        blocks = []
        for block, mask, change, place in zip(self.encoder, masks, changes, places, strict=True):
            trace = block(x, mask, intervention=change, places=place)
            x = trace.resid_post
            own = len(blocks) in self.config.unlimited_layers
            blocks.append(trace._replace(attention_mask=mask) if own else trace)
        return self._norm("encoder", x), tuple(blocks)

    def _decode(self, x, masks, memory, cross_mask, changes, places):
        """Return the residual stream after the decoder, and the traces of its blocks."""
        blocks = []
        for block, mask, change, place in zip(self.decoder, masks, changes, places, strict=True):
            trace = block(x, mask, memory, cross_mask, intervention=change, places=place)
            x = trace.resid_post
            own = len(blocks) in self.config.unlimited_layers
            blocks.append(trace._replace(self_attention_mask=mask) if own else trace)
        return self._norm("decoder", x), tuple(blocks)

    def _norm(self, stack, x):
        return self.norms[stack](x) if stack in self.norms else x

    def _output(self, x, token_ids, output_positions) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """Return pooling weights, pooled vector and logits; models that predict tokens have only logits."""
        if self.class_head is not None:
            return self.class_head(x, self.readable(token_ids)[:, 0, 0])
        if self.vocabulary_head is None:
            return None, None, x[:, 0, :0]
        if output_positions is not None:
            x = ops.take_along_axis(x, output_positions[..., None], axis=1)
        return None, None, self.vocabulary_head(x, self.token_embedding.embeddings)

    def read_out(self, stream: Tensor) -> Tensor:
        """Return the logits if the computation ended here: the logit lens (nostalgebraist, 2020).

        Behind the last block they are the model's own; a classifier reads each position as if all were equal.

        Args:
            stream: float (batch, position, d_model), the residual stream of the last stack after any step.

        Returns:
            float (batch, position, num_outputs).
        """
        x = self._norm([*self.config.stacks][-1], stream)
        if self.class_head is not None:
            return self.class_head.classify(x)[1]
        if self.vocabulary_head is None:
            return x[..., :0]
        return self.vocabulary_head(x, self.token_embedding.embeddings)

    def parameters(self) -> dict[str, keras.Variable]:
        """Return name -> variable, with the names of `config.parameter_shapes()`."""
        names = (variable.path.partition("/")[2].removeprefix(f"{HEAD}/") for variable in self.weights)
        return dict(zip(names, self.weights, strict=True))

    def get_config(self) -> dict[str, Any]:
        """Return the config for `from_config`."""
        return {"config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Build the model from the result of `get_config`."""
        return cls(TransformerConfig(**config["config"]))
