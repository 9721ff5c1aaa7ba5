"""Traces: the tensors of a forward pass over one text, with its tokens and probabilities."""

import dataclasses
import functools
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.tensors import (
    Attentions,
    AttentionTrace,
    BlockTrace,
    ModelTrace,
    flatten,
    restore,
)
from transformer_viz.text.special import PAD, UNKNOWN, is_spaced, masked
from transformer_viz.trace.zips import read_arrays

FORMER = re.compile(r"^(encoder\.\d+)\.attention")
"""Beginning of the names of an encoder's self-attention in files of former versions."""


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
            position; for a masked language model (position, label), of the token at each position. What the
            engine answers has `likeliest.TopTokens` in its place if the vocabulary is large.
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

    def __repr__(self):
        cut = ("num_dropped",) if self.num_dropped else ()
        return short_repr(self, ("model", "text", *cut, "target_text", "encoder", "decoder", "probs"))

    @property
    def encoder(self) -> tuple[BlockTrace, ...]:
        """One entry per block of the encoder; empty without one."""
        return self.values.encoder

    @property
    def decoder(self) -> tuple[BlockTrace, ...]:
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
        return np.array([token in UNKNOWN for token in self.tokens], bool)

    @property
    def gaps(self) -> np.ndarray:
        """Positions of [MASK] in the input of a masked language model: int (gap,); empty for other models."""
        fills_in = self.probs.ndim == 2 and not self.decoder
        return masked(self.tokens) if fills_in else np.zeros(0, int)

    @property
    def answer_probs(self) -> np.ndarray:
        """Probabilities of the answer: float32 (label,).

        Of the classes, of the token at the first [MASK], or else of the token after the last one, [PAD] left
        out.
        """
        if self.probs.ndim == 1:
            return self.probs
        return self.probs[[*self.gaps, np.flatnonzero(self.is_real)[-1]][0]]

    @property
    def is_real(self) -> np.ndarray:
        """Which tokens of the text, or of the target if there is one, are not [PAD]: bool (position,)."""
        return np.array([token != PAD for token in self.target_tokens or self.tokens], bool)

    @functools.cached_property
    def labels_are_spaced(self) -> bool:
        """Whether `labels` are tokens some of which mark a space."""
        return is_spaced(self.labels)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self._arrays().values())

    def attentions(
        self,
    ) -> Iterator[tuple[str, int, str, AttentionTrace, tuple[str, ...], tuple[str, ...]]]:
        """Yield (stack, layer, kind, `AttentionTrace`, query tokens, key tokens), in order of computation."""
        written = self.target_tokens if self.encoder else self.tokens
        for stack, tokens in (("encoder", self.tokens), ("decoder", written)):
            for layer, block in enumerate(getattr(self, stack)):
                yield stack, layer, "self", block.self_attention, tokens, tokens
                if block.cross_attention is not None:
                    yield stack, layer, "cross", block.cross_attention, tokens, self.tokens

    def kinds(self) -> dict[str, Attentions]:
        """Return kind of attention ("encoder", "decoder", "cross") -> its layers, for those of the model."""
        masks = {"encoder": self.values.attention_mask, "cross": self.values.cross_attention_mask}
        masks["decoder"] = self.values.target_attention_mask if self.encoder else self.values.attention_mask
        sides = {"encoder": self.encoder, "decoder": self.decoder}
        own = {stack: [block.self_attention_mask for block in blocks] for stack, blocks in sides.items()}
        found: dict[str, Attentions] = {}
        for stack, _, kind, attention, queries, keys in self.attentions():
            name = "cross" if kind == "cross" else stack
            if name not in found:
                found[name] = Attentions([], by_layer(masks[name], own.get(name, ())), queries, keys)
            found[name].layers.append(attention)
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
        """Read a file written by `save`.

        Raises:
            ValueError: If the file is not a saved trace, is damaged, or is too large.
        """
        try:
            arrays = read_arrays(path)
            meta: dict[str, Any] = json.loads(str(arrays.pop("meta")))
            meta |= {name: tuple(map(tuple, meta[name])) for name in ("offsets", "target_offsets")}
            meta |= {name: tuple(meta[name]) for name in ("tokens", "labels", "target_tokens")}
            own: dict[str, Any] = {name: arrays.pop(name) for name in _ARRAYS}
            arrays = {FORMER.sub(r"\1.self_attention", name): array for name, array in arrays.items()}
            return cls(**meta, **own, values=restore(ModelTrace, "", arrays))
        except FileNotFoundError:
            raise Problem("file.missing", path=path) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Problem("trace.file", path=path, reason=str(error)) from None

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


def by_layer(mask: np.ndarray, own: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return the masks of the layers of a stack: bool (layer or 1, head or 1, query, key).

    Args:
        mask: bool (head or 1, query, key), of the layers without their own.
        own: Those of each layer; None: it has none of its own.
    """
    if all(each is None for each in own):
        return mask[None]
    return np.stack(np.broadcast_arrays(*(mask if each is None else each for each in own)))


_ARRAYS = ("token_ids", "probs", "target_ids")

_META = tuple(field.name for field in dataclasses.fields(Trace) if field.name not in (*_ARRAYS, "values"))
