"""Traces and interventions: the tensors of a forward pass, and changes to them, as plain values.

The NamedTuples contain backend tensors inside the model, and NumPy arrays without the batch axis in a
`Trace`.
"""

import dataclasses
import functools
import json
import os
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from transformer_viz.values.config import MASK_ID, UNK_ID
from transformer_viz.values.zips import read_arrays

Tensor = Any


class AttentionTrace(NamedTuple):
    """Every tensor of one attention call (Vaswani et al., 2017, section 3.2)."""

    query: Tensor  # (batch, head, query, head_dim)
    key: Tensor  # (batch, head, key, head_dim)
    value: Tensor  # (batch, head, key, value_dim)
    scores: Tensor  # (batch, head, query, key)  query.key / sqrt(head_dim), before bias and mask
    weights: Tensor  # (batch, head, query, key)  softmax over key; a row sums to 1, or 0 if all masked
    context: Tensor  # (batch, head, query, value_dim)  weights @ value, after the head gate
    output: Tensor  # (batch, query, d_model)  this sub-layer's addition to the residual stream


class Attentions(NamedTuple):
    """All layers of one kind of attention, without the batch axis."""

    layers: list[AttentionTrace]
    mask: Tensor  # (head or 1, query, key)  bool, True = may attend
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]


class FeedForwardTrace(NamedTuple):
    """Both tensors of one feed-forward call; without such a layer, an empty one and zeros."""

    hidden: Tensor  # (batch, position, ffn_dim)  after the activation
    output: Tensor  # (batch, position, d_model)  this sub-layer's addition to the residual stream


class EncoderBlockTrace(NamedTuple):
    """The residual stream through one encoder block, and the tensors of its two sub-layers.

    Layer normalisation applies to `resid_pre` and `resid_mid` before the sub-layers ("pre"), or to the two
    sums after them ("post").
    """

    resid_pre: Tensor  # (batch, position, d_model)
    attention_input: Tensor  # (batch, position, d_model)  input of the query, key and value projections
    attention: AttentionTrace
    attention_sum: Tensor  # (batch, position, d_model)  resid_pre + attention.output
    resid_mid: Tensor  # (batch, position, d_model)
    ffn_input: Tensor  # (batch, position, d_model)
    ffn: FeedForwardTrace
    ffn_sum: Tensor  # (batch, position, d_model)  resid_mid + ffn.output
    resid_post: Tensor  # (batch, position, d_model)


class DecoderBlockTrace(NamedTuple):
    """The same for a decoder block; its cross-attention fields are None without an encoder."""

    resid_pre: Tensor  # (batch, position, d_model)
    self_attention_input: Tensor  # (batch, position, d_model)
    self_attention: AttentionTrace
    self_attention_sum: Tensor  # (batch, position, d_model)
    resid_mid: Tensor  # (batch, position, d_model)
    cross_attention_input: Tensor | None  # (batch, position, d_model)  input of the query projection
    cross_attention: AttentionTrace | None
    cross_attention_sum: Tensor | None  # (batch, position, d_model)
    resid_cross: Tensor | None  # (batch, position, d_model)
    ffn_input: Tensor  # (batch, position, d_model)
    ffn: FeedForwardTrace
    ffn_sum: Tensor  # (batch, position, d_model)
    resid_post: Tensor  # (batch, position, d_model)


class ModelTrace(NamedTuple):
    """Every tensor of one forward pass; None or empty where the architecture has no such part."""

    token_embedding: Tensor  # (batch, position, d_model)
    position_embedding: Tensor  # (batch or 1, position, d_model)
    attention_mask: Tensor  # (batch, head or 1, query, key)  bool, True = may attend
    target_token_embedding: Tensor | None  # (batch, target, d_model)
    target_position_embedding: Tensor | None  # (batch or 1, target, d_model)
    target_attention_mask: Tensor | None  # (batch, head or 1, query, key)
    cross_attention_mask: Tensor | None  # (batch, head or 1, query, key)
    encoder: tuple[EncoderBlockTrace, ...]
    memory: Tensor | None  # (batch, position, d_model)  the encoder's output, input of cross-attention
    decoder: tuple[DecoderBlockTrace, ...]
    final: Tensor  # (batch, position, d_model)  input of the output layer
    pooling_weights: Tensor | None  # (batch, position)  share of each position in `pooled`; None for "max"
    pooled: Tensor | None  # (batch, d_model)
    logits: Tensor  # (batch, num_outputs); of a decoder (batch, position, num_outputs)


class Intervention(NamedTuple):
    """A change to one attention call, as tensors: a new one needs no recompilation.

    weights = softmax(scores + score_bias) * weight_gate + weight_patch
    context = (weights @ value) * head_gate + context_patch
    """

    head_gate: Tensor  # (head, query or 1, 1)  0 ablates the head
    score_bias: Tensor  # (head, query, key)  added before the softmax; -inf cuts the edge
    weight_gate: Tensor  # (head, query, key)  multiplies after the softmax; 0 mutes the edge
    weight_patch: Tensor | None = None  # (head, query, key)  with a gate of 0, replaces the weights
    context_patch: Tensor | None = None  # (head, query, value_dim)  with a gate of 0, replaces the context


class Patch(NamedTuple):
    """A change to the residual stream: resid * gate + value."""

    gate: Tensor  # (position or 1, 1)
    value: Tensor  # (position or 1, d_model or 1)


class BlockIntervention(NamedTuple):
    """A change to one block; for an encoder block, `self_attention` changes its attention."""

    self_attention: Intervention | None = None
    cross_attention: Intervention | None = None
    resid_pre: Patch | None = None
    resid_mid: Patch | None = None
    resid_cross: Patch | None = None
    resid_post: Patch | None = None


AXES = {
    "query": ("batch", "head", "query", "head_dim"),
    "key": ("batch", "head", "key", "head_dim"),
    "value": ("batch", "head", "key", "value_dim"),
    "scores": ("batch", "head", "query", "key"),
    "weights": ("batch", "head", "query", "key"),
    "context": ("batch", "head", "query", "value_dim"),
    "output": ("batch", "query", "d_model"),
}
"""Field of `AttentionTrace` -> the names of its axes."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Every tensor of a forward pass over one text, as NumPy arrays without the batch axis.

    Traces are equal if all their fields are.

    Attributes:
        model: Name of the model.
        text: The input text, cleaned; `offsets` point into it.
        tokens: Display strings of the tokens, "[UNK]" for a word outside the vocabulary.
        offsets: (start, end) of each token in `text`, in characters.
        token_ids: int32 (position,).
        num_dropped: Number of tokens removed by truncation.
        cut_at: Index of the first token after the truncated part; None without truncation.
        labels: Names in the order of `probs`: classes, or the vocabulary.
        probs: float32 (label,), sums to 1. For a decoder (position, label), of the token after each
            position; for a masked language model (position, label), of the token at each position.
        values: Every tensor of the forward pass.
        target_text: Decoder input of an encoder-decoder; empty for other models.
        target_tokens: Its tokens, beginning with "[START]".
        target_offsets: (start, end) of each token in `target_text`.
        target_ids: int32 (target,).
    """

    model: str
    text: str
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    token_ids: np.ndarray
    num_dropped: int
    cut_at: int | None
    labels: tuple[str, ...]
    probs: np.ndarray
    values: ModelTrace
    target_text: str = ""
    target_tokens: tuple[str, ...] = ()
    target_offsets: tuple[tuple[int, int], ...] = ()
    target_ids: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def encoder(self) -> tuple[EncoderBlockTrace, ...]:
        """One entry per block of the encoder; empty without one."""
        return self.values.encoder

    @property
    def decoder(self) -> tuple[DecoderBlockTrace, ...]:
        """One entry per block of the decoder; empty without one."""
        return self.values.decoder

    @property
    def logits(self) -> np.ndarray:
        """Output before softmax or sigmoid: float32, shaped like `probs`; one number for a sigmoid."""
        return self.values.logits

    @property
    def words(self) -> tuple[str, ...]:
        """Each token's part of the text, also of unknown words; empty for [START]."""
        return tuple(self.text[start:end] for start, end in self.offsets)

    @property
    def unknown(self) -> np.ndarray:
        """Which tokens are [UNK]: bool (position,)."""
        return self.token_ids == UNK_ID

    @property
    def gaps(self) -> np.ndarray:
        """Positions of [MASK] in the input of a masked language model: int (gap,); empty for other models."""
        fills_in = self.probs.ndim == 2 and not self.decoder
        return np.flatnonzero((self.token_ids == MASK_ID) & fills_in)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self._arrays().values())

    def attentions(
        self,
    ) -> Iterator[tuple[str, int, str, AttentionTrace, tuple[str, ...], tuple[str, ...]]]:
        """Yield (stack, layer, kind, `AttentionTrace`, query tokens, key tokens), in order of computation."""
        for layer, block in enumerate(self.encoder):
            yield "encoder", layer, "self", block.attention, self.tokens, self.tokens
        written = self.target_tokens if self.encoder else self.tokens
        for layer, block in enumerate(self.decoder):
            yield "decoder", layer, "self", block.self_attention, written, written
            if block.cross_attention is not None:
                yield "decoder", layer, "cross", block.cross_attention, written, self.tokens

    def kinds(self) -> dict[str, Attentions]:
        """Return kind of attention ("encoder", "decoder", "cross") -> its layers, for those of the model."""
        masks = {"encoder": self.values.attention_mask, "cross": self.values.cross_attention_mask}
        masks["decoder"] = self.values.target_attention_mask if self.encoder else self.values.attention_mask
        found: dict[str, Attentions] = {}
        for stack, _, kind, attention, queries, keys in self.attentions():
            name = "cross" if kind == "cross" else stack
            found.setdefault(name, Attentions([], masks[name], queries, keys)).layers.append(attention)
        return found

    @property
    def fully_masked(self) -> list[tuple[str, int, str, int, int]]:
        """(stack, layer, kind, head, query) of each fully masked row, whose weights are 0."""
        return [
            (stack, layer, kind, int(head), int(query))
            for stack, layer, kind, attention, *_ in self.attentions()
            for head, query in np.argwhere(~attention.weights.any(axis=-1))
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per attention weight.

        Returns:
            Columns stack, layer, kind, head, query, key (0-based), query_token, key_token, score,
            weight; ordered by stack, layer, kind, head, query, key. The score is NaN if only weights
            were kept.
        """
        frames = []
        for stack, layer, kind, attention, query_tokens, key_tokens in self.attentions():
            weights, scores = attention.weights, attention.scores
            head, query, key = (axis.ravel() for axis in np.indices(weights.shape))
            columns = {
                "stack": stack,
                "layer": layer,
                "kind": kind,
                "head": head,
                "query": query,
                "key": key,
                "query_token": np.array(query_tokens, dtype=object)[query],
                "key_token": np.array(key_tokens, dtype=object)[key],
                "score": np.nan if scores is None else scores.ravel(),
                "weight": weights.ravel(),
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def save(self, path: str | os.PathLike) -> None:
        """Write the trace to an .npz file, readable without this package."""
        meta = {name: getattr(self, name) for name in _META}
        with open(path, "wb") as file:
            np.savez_compressed(file, meta=np.array(json.dumps(meta)), **self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read what `save` wrote.

        Raises:
            ValueError: If the file is not a saved trace, is damaged, or is too large.
        """
        try:
            arrays = read_arrays(path)
            meta: dict[str, Any] = json.loads(str(arrays.pop("meta")))
            meta |= {name: tuple(map(tuple, meta[name])) for name in ("offsets", "target_offsets")}
            meta |= {name: tuple(meta[name]) for name in ("tokens", "labels", "target_tokens")}
            own: dict[str, Any] = {name: arrays.pop(name) for name in _ARRAYS}
            return cls(**meta, **own, values=restore(ModelTrace, "", arrays))
        except FileNotFoundError:
            raise ValueError(f"There is no file {path}.") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is not a trace saved by Transformer Viz ({error}).") from None

    def __eq__(self, other):
        if not isinstance(other, Trace):
            return NotImplemented
        ours, theirs = self._arrays(), other._arrays()
        return (
            all(getattr(self, name) == getattr(other, name) for name in _META)
            and ours.keys() == theirs.keys()
            and all(np.array_equal(array, theirs[name]) for name, array in ours.items())
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]  as the data model prescribes

    def _arrays(self):
        return {name: getattr(self, name) for name in _ARRAYS} | flatten(self.values)


_ARRAYS = ("token_ids", "probs", "target_ids")

_META = tuple(field.name for field in dataclasses.fields(Trace) if field.name not in (*_ARRAYS, "values"))


def weights_only(values: ModelTrace) -> ModelTrace:
    """Return a copy with only the attention weights, masks and logits; the rest is None."""

    def weights(part):
        if not isinstance(part, AttentionTrace):
            return None
        return AttentionTrace(**dict.fromkeys(AttentionTrace._fields) | {"weights": part.weights})

    kept = ("attention_mask", "target_attention_mask", "cross_attention_mask", "logits")
    stacks = {
        stack: tuple(type(block)(*map(weights, block)) for block in getattr(values, stack))
        for stack in ("encoder", "decoder")
    }
    nothing: dict[str, Any] = dict.fromkeys(ModelTrace._fields)
    return ModelTrace(**nothing | {name: getattr(values, name) for name in kept} | stacks)


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
