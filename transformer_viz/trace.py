"""What one forward pass computed, as plain values, and what to change in it, as plain data.

The NamedTuples hold tensors of any backend inside the model and NumPy arrays in a `Trace`, where the
batch axis is dropped.
"""

import dataclasses
import json
import typing
from dataclasses import dataclass
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from transformer_viz.config import UNK_ID

Tensor = Any


class AttentionTrace(NamedTuple):
    """Every tensor of one attention call (Vaswani et al., 2017, section 3.2)."""

    query: Tensor  # (batch, head, query, head_dim)
    key: Tensor  # (batch, head, key, head_dim)
    value: Tensor  # (batch, head, key, value_dim)
    scores: Tensor  # (batch, head, query, key)  query.key / sqrt(head_dim), before bias and mask
    weights: Tensor  # (batch, head, query, key)  softmax over key; a row sums to 1, or 0 if all masked
    context: Tensor  # (batch, head, query, value_dim)  weights @ value, after the head gate
    output: Tensor  # (batch, query, d_model)  what this sub-layer adds to the residual stream


class FeedForwardTrace(NamedTuple):
    """Both tensors of one feed-forward call; without a feed-forward layer, nothing and zeros."""

    hidden: Tensor  # (batch, position, ffn_dim)  after the activation
    output: Tensor  # (batch, position, d_model)  what this sub-layer adds to the residual stream


class EncoderBlockTrace(NamedTuple):
    """The residual stream through one encoder block, and what its two sub-layers computed."""

    resid_pre: Tensor  # (batch, position, d_model)
    attention: AttentionTrace
    resid_mid: Tensor  # (batch, position, d_model)
    ffn: FeedForwardTrace
    resid_post: Tensor  # (batch, position, d_model)


class ModelTrace(NamedTuple):
    """Every tensor of one forward pass of an encoder."""

    token_embedding: Tensor  # (batch, position, d_model)
    position_embedding: Tensor  # (batch or 1, position, d_model)
    attention_mask: Tensor  # (batch, head or 1, query, key)  bool, True = may attend
    encoder: tuple[EncoderBlockTrace, ...]
    final: Tensor  # (batch, position, d_model)  the representation that is pooled
    pooled: Tensor  # (batch, d_model)
    logits: Tensor  # (batch, num_outputs)


class Intervention(NamedTuple):
    """A change to one attention call, as data: another one never compiles the model again."""

    head_gate: Tensor  # (head, 1, 1)        multiplies context; 0 ablates the head
    score_bias: Tensor  # (head, query, key)  added before the softmax; -inf cuts the edge, the rest share
    weight_gate: Tensor  # (head, query, key)  multiplies after the softmax; the rest stay as they are


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


@dataclass(frozen=True)
class Run:
    """One question to a model, complete and hashable: the key of every cache.

    Attributes:
        model: Name or folder of the model.
        text: The text as typed.
        ablate: (layer, head) pairs whose output is removed.
        cut: (layer, head, query, key) edges removed before the softmax.
    """

    model: str
    text: str
    ablate: tuple[tuple[int, int], ...] = ()
    cut: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Trace:
    """What a model did with one text: NumPy arrays, batch axis dropped.

    Attributes:
        model: Name of the model.
        text: The text that was read, cleaned; `offsets` point into it.
        tokens: Display strings of the tokens, "[UNK]" for a word the model does not know.
        offsets: (start, end) of each token in `text`, in characters.
        token_ids: int32 (position,).
        num_dropped: Tokens left out because the text was longer than the model reads.
        cut_at: Index of the first token after the gap; None if nothing was left out.
        labels: Class names, in the order of `probs`.
        probs: float32 (label,), sums to 1.
        values: Every tensor of the forward pass.
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

    @property
    def encoder(self) -> tuple[EncoderBlockTrace, ...]:
        """One entry for each block of the encoder."""
        return self.values.encoder

    @property
    def logits(self) -> np.ndarray:
        """The model's output before softmax or sigmoid: float32 (num_outputs,)."""
        return self.values.logits

    @property
    def words(self) -> tuple[str, ...]:
        """What was typed for each token, unknown words included."""
        return tuple(self.text[start:end] for start, end in self.offsets)

    @property
    def unknown(self) -> np.ndarray:
        """Where the model saw only [UNK]: bool (position,)."""
        return self.token_ids == UNK_ID

    @property
    def nbytes(self) -> int:
        """Memory of all arrays, in bytes."""
        return sum(array.nbytes for array in _flatten(self.values).values())

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every weight.

        Returns:
            Columns stack, layer, kind, head, query, key (0-based), query_token, key_token, score,
            weight; ordered by layer, head, query, key.
        """
        frames = []
        for layer, block in enumerate(self.encoder):
            weights = block.attention.weights
            head, query, key = (axis.ravel() for axis in np.indices(weights.shape))
            tokens = np.array(self.tokens, dtype=object)
            columns = {
                "stack": "encoder",
                "layer": layer,
                "kind": "self",
                "head": head,
                "query": query,
                "key": key,
                "query_token": tokens[query],
                "key_token": tokens[key],
                "score": block.attention.scores.ravel(),
                "weight": weights.ravel(),
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def save(self, path) -> None:
        """Write everything to one .npz file, readable without this package."""
        meta = {name: getattr(self, name) for name in _META}
        arrays = {"token_ids": self.token_ids, "probs": self.probs, **_flatten(self.values)}
        with open(path, "wb") as file:
            np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)

    @classmethod
    def load(cls, path) -> "Trace":
        """Read what `save` wrote.

        Raises:
            ValueError: If the file is not a saved trace.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
            meta = json.loads(str(arrays.pop("meta")))
            meta["offsets"] = tuple(map(tuple, meta["offsets"]))
            meta |= {name: tuple(meta[name]) for name in ("tokens", "labels")}
            token_ids, probs = arrays.pop("token_ids"), arrays.pop("probs")
            return cls(**meta, token_ids=token_ids, probs=probs, values=_restore(ModelTrace, "", arrays))
        except FileNotFoundError:
            raise ValueError(f"There is no file {path}.") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
            raise ValueError(f"{path} is not a trace saved by Transformer Viz ({error}).") from None


_META = tuple(
    field.name for field in dataclasses.fields(Trace) if field.name not in ("token_ids", "probs", "values")
)


def _flatten(value, prefix="") -> dict[str, np.ndarray]:
    """Return "encoder.0.attention.query" -> array for everything in a NamedTuple of NamedTuples."""
    if not isinstance(value, tuple):
        return {prefix: value}
    names = value._fields if hasattr(value, "_fields") else map(str, range(len(value)))
    arrays = {}
    for name, part in zip(names, value, strict=True):
        arrays |= _flatten(part, f"{prefix}.{name}" if prefix else name)
    return arrays


def _restore(kind, prefix, arrays):
    """Rebuild the NamedTuple `kind` from what `_flatten` returned."""
    if hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        return kind(*(_restore(hints[name], f"{prefix}{name}.", arrays) for name in kind._fields))
    if typing.get_origin(kind) is tuple:
        starts = {name[len(prefix) :].split(".")[0] for name in arrays if name.startswith(prefix)}
        return tuple(_restore(kind.__args__[0], f"{prefix}{i}.", arrays) for i in range(len(starts)))
    return arrays[prefix.removesuffix(".")]
