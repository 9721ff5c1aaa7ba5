"""The tensors of a forward pass and changes to them, as named tuples.

They contain backend tensors inside the model, and NumPy arrays without the batch axis in a `Trace`.
"""

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from transformer_viz.language.short_repr import short_repr

Tensor = Any


class AttentionTrace(NamedTuple):
    """Every tensor of one attention call (Vaswani et al., 2017, section 3.2)."""

    query: Tensor  # (batch, head, query, head_dim)
    key: Tensor  # (batch, head, key, head_dim)
    value: Tensor  # (batch, head, key, value_dim)
    scores: Tensor  # (batch, head, query, key)  query.key / sqrt(head_dim), capped, + position bias; no mask
    weights: Tensor  # (batch, head, query, key)  softmax over key; a row sums to 1, or 0 if all masked
    context: Tensor  # (batch, head, query, value_dim)  weights @ value, after the head gate
    output: Tensor  # (batch, query, d_model)  added to the residual stream, if sandwiched once normalised
    unrotated: Tensor | None = (
        None  # (batch, head, query, head_dim)  query before it is rotated; None: it is not
    )

    def __repr__(self):
        return short_repr(self)


class KVCache(NamedTuple):
    """The keys and values of tokens that are read already, of one attention layer."""

    key: Tensor  # (batch, head, position, head_dim)
    value: Tensor  # (batch, head, position, value_dim)

    def __repr__(self):
        return short_repr(self)


class Attentions(NamedTuple):
    """All layers of one kind of attention, without the batch axis."""

    layers: list[AttentionTrace]
    mask: Tensor  # (layer or 1, head or 1, query, key)  bool, True = may attend
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]

    def __repr__(self):
        return short_repr(self)

    def mask_of(self, layer: int) -> Tensor:
        """Return the mask of one layer: bool (head or 1, query, key)."""
        return self.mask[layer if len(self.mask) > 1 else 0]


class FeedForwardTrace(NamedTuple):
    """Both tensors of one feed-forward call; without such a layer, an empty one and zeros."""

    hidden: Tensor  # (batch, position, ffn_dim)  after the activation
    output: Tensor  # (batch, position, d_model)  as that of attention, after the gate of the layer

    def __repr__(self):
        return short_repr(self)


class BlockTrace(NamedTuple):
    """The residual stream through one block, and the tensors of its sub-layers.

    Layer normalisation applies to `resid_pre`, `resid_mid` and `resid_cross` before the sub-layers ("pre"),
    or to the sums after them ("post"), or before the sub-layers and to their outputs ("sandwich"): what is
    added is then `self_attention_added` and so on instead of the outputs. Without cross-attention, its fields
    are None.
    """

    resid_pre: Tensor  # (batch, position, d_model)
    self_attention_input: Tensor  # (batch, position, d_model)  input of query, key and value projections
    self_attention: AttentionTrace
    self_attention_sum: Tensor  # (batch, position, d_model)  resid_pre + self_attention.output
    resid_mid: Tensor  # (batch, position, d_model)
    cross_attention_input: Tensor | None  # (batch, position, d_model)  input of the query projection
    cross_attention: AttentionTrace | None
    cross_attention_sum: Tensor | None  # (batch, position, d_model)
    resid_cross: Tensor | None  # (batch, position, d_model)
    ffn_input: Tensor  # (batch, position, d_model)
    ffn: FeedForwardTrace
    ffn_sum: Tensor  # (batch, position, d_model)  resid_mid, or resid_cross, + ffn.output
    resid_post: Tensor  # (batch, position, d_model)
    self_attention_mask: Tensor | None = None  # (batch, head or 1, query, key)  None: the model's
    self_attention_added: Tensor | None = None  # (batch, position, d_model)  the output, normalised
    cross_attention_added: Tensor | None = None  # (batch, position, d_model)
    ffn_added: Tensor | None = None  # (batch, position, d_model)

    def __repr__(self):
        return short_repr(self)

    @property
    def attention(self) -> AttentionTrace:
        """Short for `self_attention`."""
        return self.self_attention

    @property
    def attention_input(self) -> Tensor:
        """Short for `self_attention_input`."""
        return self.self_attention_input

    @property
    def attention_sum(self) -> Tensor:
        """Short for `self_attention_sum`."""
        return self.self_attention_sum

    @property
    def attention_mask(self) -> Tensor | None:
        """Short for `self_attention_mask`."""
        return self.self_attention_mask

    @property
    def attention_added(self) -> Tensor | None:
        """Short for `self_attention_added`."""
        return self.self_attention_added


class ModelTrace(NamedTuple):
    """Every tensor of one forward pass; None or empty where the architecture has no such part."""

    token_embedding: Tensor  # (batch, position, embedding_dim)
    position_embedding: Tensor | None  # (batch or 1, position, embedding_dim); None if in attention
    attention_mask: (
        Tensor  # (batch, head or 1, query, key)  bool, True = may attend; some blocks have another
    )
    target_token_embedding: Tensor | None  # (batch, target, embedding_dim)
    target_position_embedding: Tensor | None  # (batch or 1, target, embedding_dim)
    target_attention_mask: Tensor | None  # (batch, head or 1, query, key)
    cross_attention_mask: Tensor | None  # (batch, head or 1, query, key)
    encoder: tuple[BlockTrace, ...]
    memory: Tensor | None  # (batch, position, d_model)  the encoder's output, input of cross-attention
    decoder: tuple[BlockTrace, ...]
    final: Tensor  # (batch, position, d_model)  input of the output layer
    pooling_weights: Tensor | None  # (batch, position)  share of each position in `pooled`; None for "max"
    pooled: Tensor | None  # (batch, d_model)
    logits: Tensor  # (batch, num_outputs); of a decoder (batch, position, num_outputs)
    segment_embedding: Tensor | None = None  # (batch, position, embedding_dim)
    position_bias: Tensor | None = None  # (batch or 1, head, query, key)  relative, the same in all blocks
    target_position_bias: Tensor | None = None  # (batch or 1, head, query, key)
    score_cap: Tensor | None = None  # (batch or 1,)

    def __repr__(self):
        return short_repr(self)


class Intervention(NamedTuple):
    """A change to one attention call, as tensors: a new one needs no recompilation. None changes nothing.

    weights = softmax(capped(query.key / sqrt(head_dim) * score_gate) + position bias + score_bias)
        * weight_gate + weight_patch
    context = (weights @ value) * head_gate + context_patch
    """

    head_gate: Tensor | None = None  # (head, query or 1, 1)  0 ablates the head
    score_bias: Tensor | None = None  # (head, query, key)  added before the softmax; -inf cuts the edge
    weight_gate: Tensor | None = None  # (head, query, key)  multiplies after the softmax; 0 mutes the edge
    weight_patch: Tensor | None = None  # (head, query, key)  with a gate of 0, replaces the weights
    context_patch: Tensor | None = None  # (head, query, value_dim)  with a gate of 0, replaces the context
    score_gate: Tensor | None = None  # (head, query, key)  0 makes attention uniform: no position bias either

    def __repr__(self):
        return short_repr(self)


class Patch(NamedTuple):
    """A change to the residual stream: resid * gate + value."""

    gate: Tensor  # (position or 1, 1)
    value: Tensor  # (position or 1, d_model or 1)

    def __repr__(self):
        return short_repr(self)


class BlockIntervention(NamedTuple):
    """A change to one block.

    `residual` is the factor of what the residual connections add: 1, or 0 for none; `ffn_gate` is that of
    what the feed-forward layer adds. Both broadcast to (batch, position, d_model).
    """

    self_attention: Intervention | None = None
    cross_attention: Intervention | None = None
    resid_pre: Patch | None = None
    resid_mid: Patch | None = None
    resid_cross: Patch | None = None
    resid_post: Patch | None = None
    residual: Tensor | None = None
    ffn_gate: Tensor | None = None

    def __repr__(self):
        return short_repr(self)


AXES = {
    "query": ("batch", "head", "query", "head_dim"),
    "key": ("batch", "head", "key", "head_dim"),
    "value": ("batch", "head", "key", "value_dim"),
    "scores": ("batch", "head", "query", "key"),
    "weights": ("batch", "head", "query", "key"),
    "context": ("batch", "head", "query", "value_dim"),
    "output": ("batch", "query", "d_model"),
    "unrotated": ("batch", "head", "query", "head_dim"),
}
"""Field of `AttentionTrace` -> the names of its axes."""


def weights_only(values: ModelTrace) -> ModelTrace:
    """Return a copy with only the attention weights, masks and logits; the rest is None."""

    def part_of(name, part):
        if isinstance(part, AttentionTrace):
            return AttentionTrace(**dict.fromkeys(AttentionTrace._fields) | {"weights": part.weights})
        return part if name.endswith("_mask") else None

    def weights(block):
        return type(block)(**{name: part_of(name, part) for name, part in block._asdict().items()})

    kept = ("attention_mask", "target_attention_mask", "cross_attention_mask", "logits")
    stacks = {stack: tuple(map(weights, getattr(values, stack))) for stack in ("encoder", "decoder")}
    nothing: dict[str, Any] = dict.fromkeys(ModelTrace._fields)
    return ModelTrace(**nothing | {name: getattr(values, name) for name in kept} | stacks)


def logits_only(values: ModelTrace) -> ModelTrace:
    """Return a copy with only the logits; the rest is None."""
    nothing: dict[str, Any] = dict.fromkeys(ModelTrace._fields)
    return ModelTrace(**nothing | {"encoder": (), "decoder": (), "logits": values.logits})


def mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Return nested NamedTuples with each tensor replaced by `function(tensor)`; None stays."""
    if value is None:
        return None
    if not isinstance(value, tuple):
        return function(value)
    parts = [mapped(function, part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def flatten(value: Any, prefix: str = "") -> dict[str, Tensor]:
    """Return "encoder.0.attention.query" -> tensor for all of nested NamedTuples; None is left out."""
    if value is None:
        return {}
    if not isinstance(value, tuple):
        return {prefix: value}
    names = getattr(value, "_fields", map(str, range(len(value))))
    arrays = {}
    for name, part in zip(names, value, strict=True):
        arrays |= flatten(part, f"{prefix}.{name}" if prefix else name)
    return arrays


@functools.cache
def _hints(kind):
    return typing.get_type_hints(kind)


def restore(kind: Any, prefix: str, arrays: Mapping[str, Tensor]) -> Any:
    """Return the NamedTuple `kind` from the result of `flatten`; missing tensors become None.

    Args:
        kind: NamedTuple, or the annotation of a field of one.
        prefix: Prefix of the names in `arrays`.
        arrays: Name -> tensor.
    """
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    kind = options[0]
    if typing.get_origin(kind) is tuple:
        starts = {name[len(prefix) :].split(".")[0] for name in arrays if name.startswith(prefix)}
        return tuple(restore(kind.__args__[0], f"{prefix}{i}.", arrays) for i in range(len(starts)))
    if not hasattr(kind, "_fields"):
        return arrays.get(prefix.removesuffix("."))
    if len(options) > 1 and not any(name.startswith(prefix) for name in arrays):
        return None
    hints = _hints(kind)
    return kind(*(restore(hints[name], f"{prefix}{name}.", arrays) for name in kind._fields))
