"""The compiled forward pass, from a request to tensors.

Every possible change is an input of a graph with open shapes: a new text, mask or intervention needs no
recompilation. Requests without interventions have a graph of their own, which leaves them out.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import CHOICES, NO_ID, TransformerConfig
from transformer_viz.network.masks import own_masks
from transformer_viz.network.model import Transformer
from transformer_viz.network.named_masks import named_mask
from transformer_viz.network.positions import own_position_ids, position_table
from transformer_viz.network.tensors import BlockIntervention, ModelTrace, Tensor, mapped
from transformer_viz.text.tokenizer import Encoding, NoTokensError, Tokenizer
from transformer_viz.trace import interventions
from transformer_viz.trace.order import named_order
from transformer_viz.trace.request import UNCHANGED, Changes, Request
from transformer_viz.trace.trace import by_layer


def stand_in(config: TransformerConfig, tokenizer: Tokenizer) -> int | None:
    """Return the id of the token that stands for one that is left out; None: the vocabulary has none.

    It is [MASK] if the vocabulary has it, else the unknown word.
    """
    if tokenizer.has_mask:
        return config.mask_id
    return None if config.unk_id == NO_ID else config.unk_id


class CompiledFunction:
    """A function as one graph of open shapes, compiled at the first call.

    Without AutoGraph, which nothing here needs and which delays the first call by a second; and without
    `tf.function`'s search for the graph that fits, as there is only one: with the 43 inputs of a translator
    it takes about as long as the pass.

    Args:
        function: From tensors to tensors.
        signature: Specs of its arguments, which may be nested, in named tuples too, and None.
    """

    def __init__(self, function: Callable, signature: Sequence):
        specs = tf.nest.flatten(signature)

        def run(*tensors):
            given = iter(tensors)
            leaves = [None if spec is None else next(given) for spec in specs]
            return function(*tf.nest.pack_sequence_as(signature, leaves))

        self._specs = specs
        given = [spec for spec in specs if spec is not None]
        self._function: Any = tf.function(run, input_signature=given, autograph=False)

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result; arrays of the arguments become tensors."""
        given = zip(self._specs, tf.nest.flatten(arguments), strict=True)
        return self._graph(
            *(
                part if isinstance(part, tf.Tensor) else tf.constant(part, spec.dtype)
                for spec, part in given
                if spec is not None
            )
        )

    @functools.cached_property
    def _graph(self):
        return self._function.get_concrete_function()

    @property
    def num_compilations(self) -> int:
        """Number of compilations so far."""
        return self._function.experimental_get_tracing_count()


class Prepared(NamedTuple):
    """The inputs of the compiled forward pass for a request.

    Attributes:
        source: The tokenized text.
        target: The tokenized target of an encoder-decoder; None for other models.
        changes: The changes of the request.
        inputs: Name -> tensor: texts, masks and positions.
        interventions: Stack -> `BlockIntervention` whose arrays have a leading layer axis; {} if there are
            none.
    """

    source: Encoding
    target: Encoding | None
    changes: Changes
    inputs: dict[str, Tensor]
    interventions: dict[str, BlockIntervention]

    def __repr__(self):
        return short_repr(self)


class ForwardPass:
    """The forward pass of one model, as a function of tensors alone.

    Args:
        model: `Transformer`; never modified.
        tokenizer: `Tokenizer` of its training.
        target_tokenizer: `Tokenizer` of the targets of an encoder-decoder.

    Raises:
        ValueError: If a tokenizer is missing, or a decoder's has no [START] and [END].
    """

    def __init__(self, model: Transformer, tokenizer: Tokenizer, target_tokenizer: Tokenizer | None = None):
        self.model = model
        self.config = model.config
        self.tokenizer = tokenizer.for_model(model.config)
        self.target_tokenizer = target_tokenizer and target_tokenizer.for_model(model.config, is_target=True)
        self._check_tokenizers()
        self._tables = {}
        neutral = interventions.build(self.config, UNCHANGED, dict.fromkeys(self.config.stacks, 1), {})
        self._neutral = {stack: mapped(tf.constant, change) for stack, change in neutral.items()}

    @property
    def signature(self) -> dict[str, tf.TensorSpec]:
        """Name -> shape of each of `Prepared.inputs`; all axes except widths are open."""
        ids, mask = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,) * 4, tf.bool)
        table = tf.TensorSpec((None, self.config.embedding_dim), tf.float32)
        specs = {"token_ids": ids, "attention_mask": mask, "position_ids": ids, "position_table": table}
        if self.config.unlimited_layers:
            specs["full_attention_mask"] = mask
        if self.target_tokenizer is not None:
            specs |= {"target_ids": ids, "target_attention_mask": mask, "cross_attention_mask": mask}
            specs |= {"target_position_ids": ids, "target_position_table": table}
        return specs

    @property
    def interventions_signature(self) -> dict[str, BlockIntervention]:
        """`Prepared.interventions` with the shape of each array; all axes except layers are open."""

        def spec(tensor):
            return tf.TensorSpec((tensor.shape[0], *[None] * (tensor.ndim - 1)), tensor.dtype)

        return {stack: mapped(spec, change) for stack, change in self._neutral.items()}

    def prepare(self, request: Request, *, means: Mapping[str, np.ndarray] | None = None) -> Prepared:
        """Tokenize the texts of a request, and turn its changes into tensors.

        Args:
            request: The request; for an encoder-decoder, a target of None means "".
            means: Replacement of an ablated context, from `Explorer.head_means`; None: zero.

        Raises:
            NoTokensError: If the text has no tokens.
            ValueError: If the request refers to something that does not exist.
        """
        source, target = self._encode_texts(request)
        texts = [each.ids[None] for each in (source, target) if each is not None]
        prepared = Prepared(source, target, request.changes, self.inputs(request.changes, *texts), {})
        if not request.changes.has_interventions:
            return prepared
        return prepared._replace(interventions=self.interventions(prepared, request.changes, means=means))

    def inputs(
        self, changes: Changes, token_ids: np.ndarray, target_ids: np.ndarray | None = None
    ) -> dict[str, Tensor]:
        """Return `Prepared.inputs` of texts of one length.

        Args:
            changes: The changes; of them, only masks and positions matter.
            token_ids: int32 (batch, position).
            target_ids: int32 (batch, target), for an encoder-decoder.

        Raises:
            ValueError: If a mask or positions do not fit the texts.
        """
        inputs = {"token_ids": token_ids} | self._masks(changes, token_ids, target_ids)
        if target_ids is not None:
            inputs["target_ids"] = target_ids
        return inputs | self._positions(changes, token_ids, target_ids)

    def interventions(
        self, prepared: Prepared, changes: Changes, *, means: Mapping[str, np.ndarray] | None = None
    ) -> dict[str, BlockIntervention]:
        """Return `Prepared.interventions` of other changes to the same texts and masks.

        Args:
            prepared: As `prepare` returns it.
            changes: The changes; of them, masks and positions are ignored. Without interventions, the arrays
                are neutral.
            means: As for `prepare`.
        """
        if not changes.has_interventions:
            return self._neutral
        lengths = {next(iter(self.config.stacks)): len(prepared.source.ids)}
        if prepared.target is not None:
            lengths["decoder"] = len(prepared.target.ids)
        masks = self._used_masks(prepared) if changes.patterns else {}
        return interventions.build(self.config, changes, lengths, masks, means)

    def __call__(
        self, inputs: Mapping[str, Tensor], changes: Mapping[str, BlockIntervention] | None = None
    ) -> ModelTrace:
        """Run the model on the inputs and interventions of a `Prepared`, inside a `tf.function`.

        Without interventions the result is the same, to the bit, as with neutral ones.
        """
        return self.model.trace(**inputs, interventions=changes)

    def _check_tokenizers(self):
        writer = self.tokenizer
        if len(self.config.stacks) == 2:
            writer = self.target_tokenizer
            if writer is None:
                raise ValueError("An encoder-decoder needs a `target_tokenizer`.")
        if (self.config.has_decoder or self.config.reads_start) and not writer.has_markers:
            raise Problem("tokenizer.markers")
        if self.config.fills_in and not (writer.has_markers and writer.has_mask):
            raise Problem("tokenizer.mask")

    def _encode_texts(self, request):
        """Return the tokenized text and target of a request; one stack has no target."""
        config, changes = self.config, request.changes
        source = self._without(self._read(self.tokenizer, request.text), changes.leave_out)
        if changes.order is not None:
            source = self._reorder(source, changes.order)
        source = source.padded(changes.padding, max_len=config.max_len, pad_id=config.pad_id)
        if self.target_tokenizer is None:
            if request.target is not None or changes.target_padding:
                raise Problem("text.target")
            return source, None
        target = self._read(self.target_tokenizer, "" if request.target is None else request.target)
        longest = config.target_max_len
        return source, target.padded(changes.target_padding, max_len=longest, pad_id=config.pad_id)

    def _read(self, tokenizer, text):
        encoding = tokenizer.read(text)
        if len(encoding.ids) <= (self.config.reads_start and not self.config.predicts_tokens):
            raise NoTokensError("text.no_words")
        return encoding

    def _without(self, source, places):
        """Return a text in which a token that says nothing stands in some places."""
        if not places:
            return source
        token = stand_in(self.config, self.tokenizer)
        if token is None:
            raise Problem("changes.no_stand_in")
        last = len(source.ids) - 1
        first = int(self.config.reads_start)
        for place in places:
            if type(place) is not int or not first <= place <= last:
                raise Problem("changes.leave_out", first=first, last=last, received=place)
        return source.replaced(places, token, self.tokenizer.token(token))

    def _reorder(self, source, order):
        order = named_order(order, source.tokens) if isinstance(order, str) else order
        reordered = source.reordered(order)
        if self.config.reads_start and order[0] != 0:
            raise ValueError("[START] keeps its place: `order` must begin with 0.")
        return reordered

    def _masks(self, changes, token_ids, target_ids) -> dict[str, np.ndarray]:
        """Return name -> mask: those asked for, and the model's own in place of the others.

        A mask of self-attention that is asked for holds in all blocks, also in those without a window.
        """
        written = token_ids if target_ids is None else target_ids
        sides = {
            "attention_mask": ("attention_mask", token_ids, token_ids),
            "full_attention_mask": ("attention_mask", token_ids, token_ids),
            "target_attention_mask": ("target_attention_mask", written, written),
            "cross_attention_mask": ("cross_attention_mask", written, token_ids),
        }
        index, target_index = np.arange(token_ids.shape[1]), np.arange(written.shape[1])
        masks = own_masks(self.config, token_ids, index, target_ids, target_index)
        for name, own in masks.items():
            field, queries, keys = sides[name]
            asked = getattr(changes, field)
            if asked is not None:
                mask = _mask(field, asked, self.config, queries.shape[1], keys)
                masks[name] = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, own.shape))
        return masks

    def _positions(self, changes, token_ids, target_ids):
        """Return name -> position ids and tables, as inputs of the compiled pass."""
        first = self.config.padding_position
        ids = self._position_ids(changes.position_ids, token_ids)
        written = None if target_ids is None else self._position_ids(None, target_ids)
        config, asked = self.config, changes.positions
        if config.positions_in_attention and asked not in (None, config.positions, "none"):
            raise Problem("positions.in_scores", kind=config.positions)
        acts_on_scores = config.positions_in_attention or config.has_relative_bias
        if acts_on_scores and isinstance(asked, str) and asked == "none":
            ids = np.zeros_like(ids)  # no token is at a distance from another
            written = None if target_ids is None else np.zeros_like(written)
        rows = token_ids.shape[1] + first if changes.position_ids is None else ids.max() + 1
        table = self._table(changes.positions, self.model.embedding, rows + changes.shift)
        found = {"position_ids": ids, "position_table": table[changes.shift :]}
        if target_ids is not None:
            rows = target_ids.shape[1] + first
            found["target_position_ids"] = written
            table = self._table(changes.positions, self.model.target_embedding, rows)
            found["target_position_table"] = table
        return found

    def _used_masks(self, prepared):
        """Return kind of attention -> the mask in use: bool, broadcastable to (layer, head, query, key)."""
        masks = {name: mask[0] for name, mask in prepared.inputs.items() if name.endswith("_mask")}
        first, full = next(iter(self.config.stacks)), masks.get("full_attention_mask")
        layers = range(self.config.num_layers)
        own = [full if layer in self.config.unlimited_layers else None for layer in layers]
        found = {first: by_layer(masks["attention_mask"], own)}
        if prepared.target is not None:
            found["decoder"] = masks["target_attention_mask"][None]
            found["cross"] = masks["cross_attention_mask"][None]
        return found

    def _position_ids(self, asked, token_ids) -> np.ndarray:
        """Return the positions asked for, or the model's own: int32 (batch or 1, position)."""
        length = token_ids.shape[1]
        if asked is None:
            return own_position_ids(self.config, token_ids, np.arange(length, dtype=np.int32))
        ids = np.asarray(asked)
        if ids.shape != (length,) or ids.dtype.kind not in "iu" or (ids < 0).any():
            raise ValueError(
                f"`position_ids` must be {length} whole numbers from 0, one for each token. "
                f"Received: {np.ravel(asked).tolist()}."
            )
        return ids.astype(np.int32)[None]

    def _table(self, positions, embedding, rows):
        """Return the requested position table or the model's own; computed tables are cached."""
        if positions is None or isinstance(positions, str):
            table = self._cached_table(None if positions == self.config.positions else positions, embedding)
        else:
            table = np.asarray(positions, np.float32)
            if table.ndim != 2 or table.shape[1] != self.config.embedding_dim:
                raise ValueError(
                    f"`positions` must be a kind or a table (any, {self.config.embedding_dim}). "
                    f"Received shape {table.shape}."
                )
        if table.shape[0] < rows:
            raise Problem("positions.rows", rows=int(table.shape[0]), row=int(rows - 1))
        return table

    def _cached_table(self, kind, embedding):
        if (embedding, kind) not in self._tables:
            table = embedding.position_table()
            if kind is not None:
                table = self._computed_table(kind, table.shape[0])
            numbers: Any = keras.ops.convert_to_numpy(table)
            self._tables[embedding, kind] = tf.constant(numbers)
        return self._tables[embedding, kind]

    def _computed_table(self, positions, rows):
        kinds = [kind for kind in CHOICES["positions"] if kind not in ("learned", "rotary", "relative")]
        if positions not in kinds:
            raise Problem("positions.missing", kinds=kinds, kind=positions)
        return position_table(positions, rows, self.config.embedding_dim)


def _mask(name, asked, config, queries, key_ids) -> np.ndarray:
    """Return a mask that is asked for: bool (batch or 1, head or 1, query or 1, key or 1)."""
    if isinstance(asked, str):
        return np.stack([named_mask(asked, queries, row, config.pad_id) for row in key_ids])[:, None]
    mask, shape = np.asarray(asked), (config.num_heads, queries, key_ids.shape[1])
    fits = mask.ndim <= 3 and all(
        size in (1, want) for size, want in zip(mask.shape[::-1], shape[::-1], strict=False)
    )
    if mask.dtype != bool or not fits:
        raise ValueError(
            f"`{name}` must be bool and broadcast to (head, query, key) = {shape}. "
            f"Received {mask.dtype} of shape {mask.shape}."
        )
    return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
