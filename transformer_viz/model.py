"""The Transformer: `trace` returns everything it computes, `call` returns its logits."""

import dataclasses

import keras
import numpy as np
from keras import ops

from transformer_viz import positions
from transformer_viz.config import TransformerConfig
from transformer_viz.layers import EncoderBlock, layer_norm
from transformer_viz.masks import padding_mask
from transformer_viz.trace import ModelTrace


@keras.saving.register_keras_serializable("transformer_viz")
class Transformer(keras.Model):
    """A Transformer encoder that classifies texts (Vaswani et al., 2017), built from one config.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        token_ids: int32 (batch, position); id 0 is padding.

    Returns:
        float (batch, num_outputs): logits, before softmax or sigmoid.

    >>> model = Transformer(PRESETS["attention-only"])
    >>> model.count_params()
    2609281
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.token_embedding = keras.layers.Embedding(
            config.vocab_size, config.d_model, name="token_embedding"
        )
        self.position_embedding = None
        if config.positions == "learned":
            self.position_embedding = keras.layers.Embedding(
                config.max_len, config.d_model, name="position_embedding"
            )
        self.embedding_dropout = keras.layers.Dropout(config.embedding_dropout)
        self.encoder = [EncoderBlock(config, name=f"encoder_{i}") for i in range(config.num_layers)]
        self.final_norm = layer_norm("final_norm") if config.final_norm else None
        self.pooled_dropout = keras.layers.Dropout(config.dropout)
        self.classifier = keras.layers.Dense(config.num_outputs, name="classifier")
        self.build((None, None))

    def build(self, token_ids_shape):
        """Create all parameters; the sizes are known from the config."""
        stream = (None, None, self.config.d_model)
        self.token_embedding.build((None, None))
        if self.position_embedding is not None:
            self.position_embedding.build((None, None))
        for block in self.encoder:
            block.build(stream)
        if self.final_norm is not None:
            self.final_norm.build(stream)
        self.classifier.build((None, self.config.d_model))

    def call(self, token_ids, training=None):
        """Return the logits; the compiled graph drops every tensor that only `trace` reads.

        `training` reaches the dropout layers through Keras' call context, and `fit` passes it only to a
        model that names it.
        """
        return self.trace(token_ids).logits

    def trace(
        self, token_ids, *, attention_mask=None, position_ids=None, position_table=None, interventions=None
    ):
        """Run once and keep everything; what can be changed is an argument.

        Args:
            token_ids: int32 (batch, position).
            attention_mask: bool, broadcastable to (batch, head, query, key), True = may attend. None:
                the model's own, which masks padding if the config says so.
            position_ids: int32 (batch or 1, position), rows of the table. None: 0, 1, 2, ...
            position_table: float (any, d_model), added in place of the model's own.
            interventions: One `Intervention` for each block, or None.

        Returns:
            `ModelTrace`.
        """
        if attention_mask is None:
            attention_mask = self.default_mask(token_ids)
        if position_ids is None:
            position_ids = ops.arange(ops.shape(token_ids)[1])[None]
        if position_table is None:
            position_table = self.position_table()
        if interventions is None:
            interventions = [None] * len(self.encoder)
        token_embedding = self.token_embedding(token_ids)
        if self.config.scale_embedding:
            token_embedding = token_embedding * self.config.d_model**0.5
        position_embedding = ops.take(position_table, position_ids, axis=0)
        x, blocks = self.embedding_dropout(token_embedding + position_embedding), []
        for block, intervention in zip(self.encoder, interventions, strict=True):
            blocks.append(block(x, attention_mask, intervention=intervention))
            x = blocks[-1].resid_post
        final = x if self.final_norm is None else self.final_norm(x)
        pooled = self._pool(final, token_ids)
        logits = self.classifier(self.pooled_dropout(pooled))
        return ModelTrace(
            token_embedding, position_embedding, attention_mask, tuple(blocks), final, pooled, logits
        )

    def default_mask(self, token_ids):
        """Return the mask of the model's own making: bool (batch, 1, 1, key)."""
        mask = padding_mask(token_ids)
        return mask if self.config.mask_padding else ops.ones_like(mask)

    def position_table(self):
        """Return the table the model adds to its tokens: float (max_len, d_model)."""
        if self.position_embedding is not None:
            return self.position_embedding.embeddings
        return positions.position_table(self.config.positions, self.config.max_len, self.config.d_model)

    def _pool(self, x, token_ids):
        """(batch, position, d_model) -> (batch, d_model), leaving padding out if it is masked."""
        if self.config.pooling == "first":
            return x[:, 0]
        real = ops.swapaxes(self.default_mask(token_ids)[:, 0], 1, 2)
        if self.config.pooling == "max":
            return ops.max(ops.where(real, x, np.finfo("float32").min), axis=1)
        count = ops.sum(ops.cast(real, x.dtype), axis=1)
        return ops.sum(ops.where(real, x, 0.0), axis=1) / ops.maximum(count, 1.0)

    def parameters(self):
        """Return name -> variable, named as in `config.parameter_shapes()`."""
        return {variable.path.partition("/")[2]: variable for variable in self.weights}

    def get_config(self):
        """Return what `from_config` needs."""
        return {"config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        """Build the model from what `get_config` returned."""
        return cls(TransformerConfig(**config["config"]))
