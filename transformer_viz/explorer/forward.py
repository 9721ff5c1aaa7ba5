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
from transformer_viz.network.model import Transformer
from transformer_viz.network.named_masks import named_mask
from transformer_viz.network.positions import position_table
from transformer_viz.network.tensors import BlockIntervention, ModelTrace, Tensor, flatten, restore
from transformer_viz.text.tokenizer import Encoding, NoTokensError, Tokenizer
from transformer_viz.trace import interventions
from transformer_viz.trace.order import named_order
from transformer_viz.trace.request import UNCHANGED, Changes, Request
from transformer_viz.trace.trace import by_layer

USE_OWN = -1
"""Sentinel in masks and position ids: use the model's own value."""


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
        signature: Specs of its arguments, which may be nested.
    """

    def __init__(self, function: Callable, signature: Sequence):
        self._signature = tuple(signature)
        self._function: Any = tf.function(function, input_signature=signature, autograph=False)

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result; arrays of the arguments become tensors."""
        return self._graph(*map(_tensors, self._signature, arguments))

    @functools.cached_property
    def _graph(self):
        return self._function.get_concrete_function()

    @property
    def num_compilations(self) -> int:
        """Number of compilations so far."""
        return self._function.experimental_get_tracing_count()


def _tensors(spec, given):
    """Return nested arguments with tensors for arrays, as `tf.nest.map_structure` would in twice the time."""
    if isinstance(given, dict):
        return {name: _tensors(spec[name], part) for name, part in given.items()}
    if isinstance(given, list | tuple):
        parts = [_tensors(*pair) for pair in zip(spec, given, strict=True)]
        return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    return given if isinstance(given, tf.Tensor) else tf.constant(given, spec.dtype)


class Prepared(NamedTuple):
    """The inputs of the compiled forward pass for a request.

    Attributes:
        source: The tokenized text.
        target: The tokenized target of an encoder-decoder; None for other models.
        inputs: Name -> tensor: texts, masks and positions.
        interventions: Name -> tensor with a leading layer axis; {} if there are none.
    """

    source: Encoding
    target: Encoding | None
    inputs: dict[str, Tensor]
    interventions: dict[str, Tensor]

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
        neutral = self._tensors(UNCHANGED, dict.fromkeys(self.config.stacks, 1), {})
        self._neutral = {name: tf.constant(array) for name, array in neutral.items()}

    @property
    def signature(self) -> dict[str, tf.TensorSpec]:
        """Name -> shape of each of `Prepared.inputs`; all axes except widths are open."""
        ids, mask = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,) * 4, tf.int32)
        table = tf.TensorSpec((None, self.config.embedding_dim), tf.float32)
        specs = {"token_ids": ids, "attention_mask": mask, "position_ids": ids, "position_table": table}
        if self.target_tokenizer is not None:
            specs |= {"target_ids": ids, "target_attention_mask": mask, "cross_attention_mask": mask}
            specs |= {"target_position_ids": ids, "target_position_table": table}
        return specs

    @property
    def interventions_signature(self) -> dict[str, tf.TensorSpec]:
        """Name -> shape of each of `Prepared.interventions`; all axes except layers are open."""
        return {
            name: tf.TensorSpec((tensor.shape[0], *[None] * (tensor.ndim - 1)), tensor.dtype)
            for name, tensor in self._neutral.items()
        }

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
        inputs = {"token_ids": source.ids[None]} | self._masks(request.changes, source, target)
        if target is not None:
            inputs["target_ids"] = target.ids[None]
        inputs |= self._positions(request.changes, source, target)
        prepared = Prepared(source, target, inputs, {})
        if not request.changes.has_interventions:
            return prepared
        return prepared._replace(interventions=self.interventions(prepared, request.changes, means=means))

    def interventions(
        self, prepared: Prepared, changes: Changes, *, means: Mapping[str, np.ndarray] | None = None
    ) -> dict[str, Tensor]:
        """Return `Prepared.interventions` of other changes to the same texts and masks.

        Args:
            prepared: As `prepare` returns it.
            changes: The changes; of them, masks and positions are ignored. Without interventions, the tensors
                are neutral.
            means: As for `prepare`.
        """
        if not changes.has_interventions:
            return self._neutral
        lengths = {next(iter(self.config.stacks)): len(prepared.source.ids)}
        if prepared.target is not None:
            lengths["decoder"] = len(prepared.target.ids)
        return self._tensors(changes, lengths, self._used_masks(prepared) if changes.patterns else {}, means)

    def __call__(
        self, inputs: Mapping[str, Tensor], interventions: Mapping[str, Tensor] | None = None
    ) -> ModelTrace:
        """Run the model on the tensors of a `Prepared`, inside a `tf.function`.

        Without interventions the result is the same, to the bit, as with neutral ones.
        """
        inputs = {**inputs, **self._used(inputs, inputs["token_ids"], inputs.get("target_ids"))}
        for side in ("", "target_")[: len(self.config.stacks)]:
            own, name = self.model.position_ids(inputs[f"{side or 'token_'}ids"]), f"{side}position_ids"
            inputs[name] = tf.where(inputs[name] == USE_OWN, own, inputs[name])
        changes = None if interventions is None else self._by_block(interventions)
        return self.model.trace(**inputs, interventions=changes)

    def _by_block(self, interventions):
        """Return the intervention of each block, the encoder's before the decoder's."""
        changes = []
        for stack, layers in self.config.stacks.items():
            parts = {
                name: tf.unstack(tensor, layers)
                for name, tensor in interventions.items()
                if name.startswith(stack)
            }
            for layer in range(layers):
                one = {name: part[layer] for name, part in parts.items()}
                changes.append(restore(BlockIntervention, f"{stack}.", one))
        return changes

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

    def _masks(self, changes, source, target):
        """Return name -> mask, as inputs of the compiled pass."""
        sides = {"attention_mask": (source.ids, source.ids)}
        if target is not None:
            sides["target_attention_mask"] = (target.ids, target.ids)
            sides["cross_attention_mask"] = (target.ids, source.ids)
        return {
            name: _mask(name, getattr(changes, name), self.config, len(queries), keys)
            for name, (queries, keys) in sides.items()
        }

    def _positions(self, changes, source, target):
        """Return name -> position ids and tables, as inputs of the compiled pass."""
        first = self.config.padding_position
        ids = _position_ids(changes.position_ids, len(source.ids))
        target_ids = _position_ids(None, 0)
        config, asked = self.config, changes.positions
        if config.positions_in_attention and asked not in (None, config.positions, "none"):
            raise Problem("positions.in_scores", kind=config.positions)
        acts_on_scores = config.positions_in_attention or config.has_relative_bias
        if acts_on_scores and isinstance(asked, str) and asked == "none":
            ids = np.zeros((1, len(source.ids)), np.int32)  # no token is at a distance from another
            target_ids = np.zeros((1, 0 if target is None else len(target.ids)), np.int32)
        rows = len(source.ids) + first if changes.position_ids is None else ids.max() + 1
        table = self._table(changes.positions, "position_table", rows + changes.shift)
        found = {"position_ids": ids, "position_table": table[changes.shift :]}
        if target is not None:
            rows = len(target.ids) + first
            found["target_position_ids"] = target_ids
            found["target_position_table"] = self._table(changes.positions, "target_position_table", rows)
        return found

    def _used_masks(self, prepared):
        """Return kind of attention -> the mask in use: bool, broadcastable to (layer, head, query, key)."""
        inputs = prepared.inputs
        used = self._used(inputs, inputs["token_ids"], inputs.get("target_ids"))
        used = {name: np.asarray(mask)[0] for name, mask in used.items()}
        first, count = next(iter(self.config.stacks)), self.config.num_layers
        unlimited = used.pop("unlimited_mask", None)
        own = [unlimited if layer in self.config.unlimited_layers else None for layer in range(count)]
        found = {first: by_layer(used.pop("attention_mask"), own)}
        return found | {
            kind: mask[None] for kind, mask in zip(("decoder", "cross"), used.values(), strict=False)
        }

    def _tensors(self, changes, lengths, masks, means=None):
        """Return name -> array of `changes`, each with a leading layer axis."""
        built = interventions.build(self.config, changes, lengths, masks, means)
        return {name: array for stack, part in built.items() for name, array in flatten(part, stack).items()}

    def _used(self, given, token_ids, target_ids):
        """Return name -> mask in use, as arguments of the model: those given, or the model's own.

        A mask of self-attention that is given holds in all blocks, also in those without a window.
        """
        own = {"attention_mask": self.model.self_mask(token_ids, causal=self.config.causal)}
        if target_ids is not None:
            own["target_attention_mask"] = self.model.self_mask(target_ids, causal=True)
            own["cross_attention_mask"] = self.model.readable(token_ids)
        sources = {name: given[name] for name in own}
        if self.config.unlimited_layers:
            own["unlimited_mask"] = self.model.unlimited_mask(token_ids)
            sources["unlimited_mask"] = given["attention_mask"]
        return {
            name: tf.where(sources[name] == USE_OWN, mask, sources[name] == 1) for name, mask in own.items()
        }

    def _table(self, positions, own, rows):
        """Return the requested position table or the model's own; computed tables are cached."""
        if positions is None or isinstance(positions, str):
            table = self._cached_table(None if positions == self.config.positions else positions, own)
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

    def _cached_table(self, kind, own):
        if (own, kind) not in self._tables:
            table = getattr(self.model, own)()
            if kind is not None:
                table = self._computed_table(kind, table.shape[0])
            numbers: Any = keras.ops.convert_to_numpy(table)
            self._tables[own, kind] = tf.constant(numbers)
        return self._tables[own, kind]

    def _computed_table(self, positions, rows):
        kinds = [kind for kind in CHOICES["positions"] if kind not in ("learned", "rotary", "relative")]
        if positions not in kinds:
            raise Problem("positions.missing", kinds=kinds, kind=positions)
        return position_table(positions, rows, self.config.embedding_dim)


def _mask(name, value, config, queries, key_ids):
    """Return a mask as graph input: int32 (1, head or 1, query or 1, key or 1), or `USE_OWN`."""
    if value is None:
        return np.full((1, 1, 1, 1), USE_OWN, np.int32)
    if isinstance(value, str):
        value = named_mask(value, queries, key_ids, config.pad_id)
    mask, shape = np.asarray(value), (config.num_heads, queries, len(key_ids))
    fits = mask.ndim <= 3 and all(
        size in (1, want) for size, want in zip(mask.shape[::-1], shape[::-1], strict=False)
    )
    if mask.dtype != bool or not fits:
        raise ValueError(
            f"`{name}` must be bool and broadcast to (head, query, key) = {shape}. "
            f"Received {mask.dtype} of shape {mask.shape}."
        )
    return mask.reshape((1,) * (4 - mask.ndim) + mask.shape).astype(np.int32)


def _position_ids(value, length):
    if value is None:
        return np.full((1, 1), USE_OWN, np.int32)
    ids = np.asarray(value)
    if ids.shape != (length,) or ids.dtype.kind not in "iu" or (ids < 0).any():
        raise ValueError(
            f"`position_ids` must be {length} whole numbers from 0, one for each token. "
            f"Received: {np.ravel(value).tolist()}."
        )
    return ids.astype(np.int32)[None]
