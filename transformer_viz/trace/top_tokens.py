"""Traces of models with a large vocabulary, of whose distributions only the likeliest tokens are kept."""

import dataclasses
from typing import Any, cast

import numpy as np

from transformer_viz.trace.trace import Trace

MOST_LABELS = 2**14
"""Largest vocabulary whose distributions are kept whole."""

KEPT = 256
"""Number of the likeliest tokens that are kept of each distribution."""

MOST_GAPS = 4
"""Number of [MASK] whose distributions are kept whole."""


@dataclasses.dataclass(frozen=True, eq=False)
class TopTokens:
    """Distributions over a vocabulary, of which the likeliest tokens are kept. It reads as the array would.

    All other tokens of a row have their mean, so that its probabilities still sum to 1; each is at most the
    least that is kept.

    Attributes:
        ids: int32 (row, kept), the likeliest first; behind them the token that stands there and the next one.
        values: float32 (row, kept), their probabilities or logits.
        rest: float32 (row,), the number that stands for each other token.
        whole: Row -> float32 (token,), of the rows that are kept whole.
        size: Number of tokens of the vocabulary.
    """

    ids: np.ndarray
    values: np.ndarray
    rest: np.ndarray
    whole: dict[int, np.ndarray]
    size: int

    ndim = 2
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of tokens in the vocabulary."""
        return len(self.ids), self.size

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        kept = self.ids, self.values, self.rest, *self.whole.values()
        return sum(array.nbytes for array in kept)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, rows: Any) -> Any:
        """Return a row, float32 (token,), or several of them as one array."""
        numbers = np.arange(len(self))[rows]
        if numbers.ndim:
            return np.array([self._row(int(row)) for row in numbers], np.float32).reshape(-1, self.size)
        return self._row(int(numbers))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype)

    def argmax(self, axis: int = -1) -> np.ndarray:
        """Return the likeliest token of each row: int (row,). The axis must be the last."""
        _check_axis(axis)
        return self.ids[:, 0].astype(int)

    def max(self, axis: int = -1) -> np.ndarray:
        """Return the number of the likeliest token of each row: float32 (row,). The axis must be the last."""
        _check_axis(axis)
        return self.values[:, 0]

    def _row(self, row):
        if row in self.whole:
            return self.whole[row]
        found = np.full(self.size, self.rest[row], np.float32)
        found[self.ids[row]] = self.values[row]
        return found


def is_whole(trace: Trace) -> bool:
    """Return whether a trace has all probabilities, not only those of the likeliest tokens."""
    return not isinstance(trace.probs, TopTokens)


def with_top_tokens(trace: Trace) -> Trace:
    """Return a trace with the likeliest tokens alone; itself if its vocabulary has at most `MOST_LABELS`.

    Each row keeps its `KEPT` likeliest tokens, the token at its position in the text, and the one after that.
    The probabilities are whole in the row of `Trace.answer_probs`, at the first `MOST_GAPS` [MASK], and in
    the first row of an encoder-decoder; the logits are whole in the last row that is no [PAD].
    """
    probs, logits = trace.probs, trace.logits
    if probs.ndim == 1 or probs.shape[-1] <= MOST_LABELS:
        return trace
    first = [0] if trace.encoder and trace.decoder else []
    answer = int(np.flatnonzero(trace.is_real)[-1])
    whole = {*first, *trace.gaps[:MOST_GAPS].tolist(), answer}
    written = trace.target_ids if trace.target_ids.size else trace.token_ids
    ids = np.hstack([_likeliest(logits), written[:, None], np.roll(written, -1)[:, None]])
    kept_probs, kept_logits = (np.take_along_axis(array, ids, axis=-1) for array in (probs, logits))
    left = np.ones(probs.shape, bool)
    np.put_along_axis(left, ids, False, axis=-1)
    mean = (probs.sum(axis=-1, where=left, dtype=np.float64) / left.sum(axis=-1)).astype(np.float32)
    odds = np.maximum(mean, np.finfo(np.float32).tiny) / kept_probs[:, 0]  # to the likeliest token
    size = probs.shape[-1]
    found = TopTokens(ids, kept_probs, mean, _rows(probs, whole), size)
    values = TopTokens(ids, kept_logits, kept_logits[:, 0] + np.log(odds), _rows(logits, {answer}), size)
    return dataclasses.replace(
        trace, probs=cast(Any, found), values=trace.values._replace(logits=cast(Any, values))
    )


def _likeliest(logits):
    """Return the ids of the highest logits of each row, the highest first: int32 (row, kept)."""
    found = np.argpartition(logits, -KEPT, axis=-1)[:, -KEPT:].astype(np.int32)
    found.sort(axis=-1)  # of equal logits the lower id is first, as in `argmax`
    order = np.argsort(-np.take_along_axis(logits, found, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(found, order, axis=-1)


def _rows(array, numbers):
    return {number: array[number].copy() for number in numbers}


def _check_axis(axis):
    if axis not in (-1, 1):
        raise ValueError(f"`axis` must be the last one. Received: {axis!r}.")
