"""The Transformer: `trace` returns all its tensors, `call` returns its logits."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import keras

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.embedding import Embedding, EmbeddingTrace
from transformer_viz.network.head import ClassHead, VocabularyHead
from transformer_viz.network.layers import Dropout, Shape
from transformer_viz.network.masks import causal_mask, hides_nothing, own_masks, readable, window_mask
from transformer_viz.network.stack import Stack, StackTrace
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
        self.embedding, self.target_embedding = Embedding(config), None
        if config.architecture == "encoder-decoder":
            self.target_embedding = Embedding(config, "target_", self.embedding)
        # Keras finds the layers in these lists, and checkpoints number the variables in their order.
        sides = (each for each in (self.embedding, self.target_embedding) if each is not None)
        self.embedding_parts = [*zip(*(each.parts for each in sides), strict=True)]
        self.embedding_dropout = Dropout(config.embedding_dropout, name="embedding_dropout")
        self.stacks = {stack: Stack(config, stack) for stack in config.stacks}
        self.stack_parts = [*zip(*(each.parts for each in self.stacks.values()), strict=True)]
        self.vocabulary_head = VocabularyHead(config, name=HEAD) if config.predicts_tokens else None
        self.class_head = None
        if not config.predicts_tokens and config.output != "none":
            self.class_head = ClassHead(config, name=HEAD)
        self.build((None, None))

    def build(self, token_ids_shape: Shape) -> None:
        """Create all parameters; all sizes are known from the config."""
        for part in (self.embedding, self.target_embedding, *self.stacks.values()):
            if part is not None:
                part.build()
        for head in (self.vocabulary_head, self.class_head):
            if head is not None:
                head.build((None, None, self.config.d_model))

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
        full_attention_mask: Tensor | None = None,
        target_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        target_position_ids: Tensor | None = None,
        position_table: Tensor | None = None,
        target_position_table: Tensor | None = None,
        output_positions: Tensor | None = None,
        interventions: Mapping[str, BlockIntervention] | None = None,
    ) -> ModelTrace:
        """Run one forward pass and return all its tensors.

        Args:
            token_ids: int32 (batch, position).
            target_ids: int32 (batch, target), the decoder input of an encoder-decoder.
            attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend: for the
                self-attention over `token_ids`. None: the model's own.
            full_attention_mask: The same for `config.unlimited_layers`. None: `attention_mask`, if that is
                given.
            target_attention_mask: The same for the self-attention over `target_ids`.
            cross_attention_mask: The same for the cross-attention.
            position_ids: int32 (batch or 1, position), rows of the table. None: 0, 1, 2, ..., subject to
                `config.padding_position`.
            target_position_ids: The same for `target_ids`.
            position_table: float (any, embedding_dim), replacement of the model's own.
            target_position_table: The same for `target_ids`.
            output_positions: int32 (batch, any), positions whose logits are computed, for models that
                predict tokens. None: all.
            interventions: Stack -> `BlockIntervention` whose tensors have a leading layer axis. None: none.

        Returns:
            `ModelTrace`.
        """
        masks = self._masks(
            token_ids,
            target_ids,
            attention_mask=attention_mask,
            full_attention_mask=full_attention_mask,
            target_attention_mask=target_attention_mask,
            cross_attention_mask=cross_attention_mask,
        )
        mask = masks["attention_mask"]
        if attention_mask is None and hides_nothing(self.config):
            mask = None  # which saves a pass over the scores
        changes = interventions or {}
        target, encoded, decoded = EmbeddingTrace(), StackTrace(), StackTrace()
        cross = {}

        source = self.embedding(token_ids, position_ids, position_table)
        x = self.embedding_dropout(source.output)
        read = x, source.position_ids, mask, masks.get("full_attention_mask")
        if "encoder" in self.stacks:
            encoded = self.stacks["encoder"](*read, intervention=changes.get("encoder"))
            x = encoded.output
        if self.target_embedding is not None:
            cross = {"memory": x, "cross_attention_mask": masks["cross_attention_mask"]}
            target = self.target_embedding(target_ids, target_position_ids, target_position_table)
            x = self.embedding_dropout(target.output)
            read = x, target.position_ids, masks["target_attention_mask"]
        if "decoder" in self.stacks:
            decoded = self.stacks["decoder"](*read, **cross, intervention=changes.get("decoder"))
            x = decoded.output
        pooling_weights, pooled, logits = self._head(x, token_ids, output_positions)

        return ModelTrace(
            token_embedding=source.token,
            position_embedding=source.position,
            attention_mask=masks["attention_mask"],
            target_token_embedding=target.token,
            target_position_embedding=target.position,
            target_attention_mask=masks.get("target_attention_mask"),
            cross_attention_mask=masks.get("cross_attention_mask"),
            encoder=encoded.blocks,
            memory=cross.get("memory"),
            decoder=decoded.blocks,
            final=x,
            pooling_weights=pooling_weights,
            pooled=pooled,
            logits=logits,
            segment_embedding=source.segment,
            position_bias=encoded.bias if encoded.blocks else decoded.bias,
            target_position_bias=None if self.target_embedding is None else decoded.bias,
            score_cap=None if self.config.score_cap is None else ops.full((1,), self.config.score_cap),
        )

    def memory(self, token_ids: Tensor) -> Tensor:
        """Return the output of the encoder: float (batch, position, d_model).

        Args:
            token_ids: int32 (batch, position).
        """
        source = self.embedding(token_ids)
        mask = None if hides_nothing(self.config) else self._masks(token_ids)["attention_mask"]
        x = self.embedding_dropout(source.output)
        return self.stacks["encoder"](x, source.position_ids, mask).output

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
        index = ops.arange(first + ops.shape(token_ids)[1])
        full = mask = causal_mask(index[first:], index)
        if config.window is not None:
            mask = mask & window_mask(index[first:], index, config.window)
        rows = index[None] + config.padding_position
        embedding = self.target_embedding or self.embedding
        x = self.embedding_dropout(embedding(token_ids, rows[:, first:]).output)
        cross = {"memory": memory, "cross_attention_mask": cross_attention_mask}
        decoded = self.stacks["decoder"](x, rows, mask, full, **cross, past=past)
        known = ((block.self_attention.key, block.self_attention.value) for block in decoded.blocks)
        *_, logits = self._head(decoded.output[:, -1:], token_ids, None)
        return logits[:, 0], KVCache(*map(ops.stack, zip(*known, strict=True)))

    def _masks(self, token_ids, target_ids=None, **given) -> dict[str, Tensor]:
        """Return name -> mask: those that are given, and the model's own in place of None."""
        given = {name: mask for name, mask in given.items() if mask is not None}
        if "attention_mask" in given:
            given.setdefault("full_attention_mask", given["attention_mask"])
        needed = {"attention_mask"}
        if target_ids is not None:
            needed |= {"target_attention_mask", "cross_attention_mask"}
        if needed <= given.keys():
            return given
        texts = (ops.convert_to_tensor(ids) for ids in (token_ids, target_ids) if ids is not None)
        sides = [side for ids in texts for side in (ids, ops.arange(ops.shape(ids)[1]))]
        return own_masks(self.config, *sides) | given

    def _head(self, x, token_ids, output_positions) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """Return pooling weights, pooled vector and logits; models that predict tokens have only logits."""
        if self.class_head is not None:
            return self.class_head(x, readable(self.config, token_ids)[:, 0, 0])
        if self.vocabulary_head is None:
            return None, None, x[:, 0, :0]
        if output_positions is not None:
            x = ops.take_along_axis(x, output_positions[..., None], axis=1)
        return None, None, self.vocabulary_head(x, self.embedding.token.embeddings)

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
