"""The embedding: token ids become vectors, to which positions and segments are added."""

from typing import Any, NamedTuple

import keras

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import dense, normalisation, project, table
from transformer_viz.network.positions import own_position_ids, position_table
from transformer_viz.network.tensors import Tensor

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong


class EmbeddingTrace(NamedTuple):
    """The embeddings of a text, and their sum; None where a model has no such part."""

    token: Tensor | None = None  # (batch, position, embedding_dim)
    position: Tensor | None = None  # (batch or 1, position, embedding_dim)
    segment: Tensor | None = None  # (batch, position, embedding_dim)
    output: Tensor | None = None  # (batch, position, d_model)  the sum, normalised and projected
    position_ids: Tensor | None = None  # (batch or 1, position)  rows of the position table


class Embedding:
    """Token embedding + position embedding (Vaswani et al., 2017, sections 3.4 and 3.5) + segment embedding.

    It is `PositionalEmbedding` in TensorFlow's tutorial, `TokenAndPositionEmbedding` in keras-hub, `wte` and
    `wpe` in nanoGPT. The sum may be normalised, and brought to the width of the residual stream. This is no
    layer of Keras itself, so that the names of parameters have no further part.

    Args:
        config: `TransformerConfig`.
        side: "" of the text, "target_" of the target of an encoder-decoder.
        text: For a target, the embedding of the text, of which it may share the tokens and the segments.

    Attributes:
        parts: Its layers, in the order token, position, segment, norm, projection; None where it has none.
    """

    def __init__(self, config: TransformerConfig, side: str = "", text: "Embedding | None" = None):
        self.config = config
        sizes = config.target_vocab_size, config.target_max_len
        vocab_size, max_len = sizes if side else (config.vocab_size, config.max_len)
        width, self.num_positions = config.embedding_dim, max_len + config.padding_position
        self.position = self.norm = self.projection = None
        if text is not None and config.tie_embeddings:
            self.token = text.token
        else:
            self.token = table(vocab_size, width, name=f"{side}token_embedding")
        if config.positions == "learned":
            self.position = table(self.num_positions, width, name=f"{side}position_embedding")
        self.segment = None if text is None else text.segment
        if config.segments and text is None:
            self.segment = table(config.segments, width, name="segment_embedding")
        if config.embedding_norm:
            self.norm = normalisation(config, f"{side}embedding_norm")
        if config.projects_embeddings:
            self.projection = dense(config.d_model, bias=True, name=f"{side}embedding_projection")
        self.parts = self.token, self.position, self.segment, self.norm, self.projection

    def build(self) -> None:
        """Create the parameters; all sizes are known from the config."""
        for part in self.parts:
            if part is not None and not part.built:
                part.build((None, None, self.config.embedding_dim))

    def __call__(
        self, token_ids: Tensor, position_ids: Tensor | None = None, positions: Tensor | None = None
    ) -> EmbeddingTrace:
        """Return the embeddings of a text.

        Args:
            token_ids: int32 (batch, position).
            position_ids: int32 (batch or 1, position), rows of the position table; None: the model's own.
            positions: float (any, embedding_dim), in place of the model's own table.
        """
        if position_ids is None:
            index = ops.arange(ops.shape(token_ids)[1])
            position_ids = own_position_ids(self.config, token_ids, index, ops.where)
        # A batch of a model made elsewhere is padded with an id that is no row of the table.
        token = self.token(ops.maximum(token_ids, 0) if self.config.is_foreign else token_ids)
        if self.config.scale_embedding:
            token = token * self.config.d_model**0.5
        total, position, segment = token, None, None
        if not self.config.positions_in_attention:
            rows = self.position_table() if positions is None else positions
            position = ops.cast(ops.take(rows, position_ids, axis=0), token.dtype)
            total = token + position
        if self.segment is not None:
            segment = self.segment(self.segment_ids(token_ids))
            total = total + segment
        total = total if self.norm is None else self.norm(total)
        total = total if self.projection is None else project(self.projection, total)
        return EmbeddingTrace(token, position, segment, total, position_ids)

    def position_table(self) -> Tensor:
        """Return the position table: float (max_len, embedding_dim), with `padding_position` one row more."""
        if self.position is not None:
            return self.position.embeddings
        kind = "none" if self.config.positions_in_attention else self.config.positions
        return position_table(kind, self.num_positions, self.config.embedding_dim)

    def segment_ids(self, token_ids: Tensor) -> Tensor:
        """Return the row of the segment table for each token: 1 behind the first `separator`, otherwise 0."""
        config, ends = self.config, ops.ones_like(token_ids, "int32")
        for number in config.separator:  # 1 behind each of its first tokens
            ends = ops.pad(ends * ops.cast(ops.equal(token_ids, number), "int32"), ((0, 0), (1, 0)))[:, :-1]
        is_second = ops.cumsum(ends, axis=-1) > 0 if config.separator else ends == 0
        return ops.cast(ops.logical_and(is_second, ops.not_equal(token_ids, config.pad_id)), "int32")
