"""Texts packed into rows of one length: no padding within a batch and no truncated text.

A text that does not fit into the rest of a row continues in the next one. Attention stays within a text, and
positions count from 0 at the beginning of a text, or of its part in a row: the model reads each part alone.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.network.config import END_ID, PAD_ID, START_ID, TransformerConfig


class PackedRows(NamedTuple):
    """Some rows of a stream.

    Attributes:
        token_ids: int32 (row, position), the inputs.
        next_ids: int32 (row, position), the token after each; [END] after the last one of a text, [PAD] where
            nothing is predicted.
        position_ids: int32 (row, position), counted from 0 in each text.
    """

    token_ids: np.ndarray
    next_ids: np.ndarray
    position_ids: np.ndarray

    def inputs(self, config: TransformerConfig) -> dict[str, np.ndarray]:
        """Return the arguments of `Transformer.trace` with which a model reads each text alone."""
        found = {
            "token_ids": self.token_ids,
            "position_ids": self.position_ids + np.int32(config.padding_position),
            "attention_mask": self.mask(causal=bool(config.causal), window=config.window),
        }
        if config.unlimited_layers:
            found["unlimited_mask"] = self.mask(causal=bool(config.causal))
        return found

    @property
    def texts(self) -> np.ndarray:
        """Number of each token's text within its row, from 1: int (row, position)."""
        return np.cumsum(self.position_ids == 0, axis=1)

    def mask(self, *, causal: bool, window: int | None = None) -> np.ndarray:
        """Return which tokens may attend to which, all within one text: bool (row, 1, query, key).

        Args:
            causal: Only to itself and those before.
            window: Only to those at most so far away; None: to all.
        """
        texts, index = self.texts, np.arange(self.token_ids.shape[1])
        mask = texts[:, :, None] == texts[:, None, :]
        if causal:
            mask &= index[None, :] <= index[:, None]
        if window is not None:
            mask &= np.abs(index[None, :] - index[:, None]) <= window
        return mask[:, None]


class Stream:
    """Texts, each after a [START], concatenated and cut into rows of one length.

    Args:
        token_ids: One int array for each text, without [START] and [END].
        length: Tokens of a row.
        order: Index of each text once; None: as they are.

    >>> Stream([[7, 8], [9]], 4).rows([0]).next_ids.tolist()
    [[7, 8, 3, 9]]
    """

    def __init__(self, token_ids: Sequence[np.ndarray], length: int, order: Iterable[int] | None = None):
        self.length = length
        start = np.array([START_ID], np.int32)
        order = range(len(token_ids)) if order is None else order
        texts = [part for text in order for part in (start, token_ids[text])]
        self._ids = np.concatenate([*texts, start], dtype=np.int32)

    def __len__(self) -> int:
        """Return the number of rows."""
        return math.ceil((len(self._ids) - 1) / self.length)

    def rows(self, numbers: Sequence[int] | np.ndarray) -> PackedRows:
        """Return some rows; the last of the stream is padded with [PAD].

        Args:
            numbers: int (row,), indices of the rows.
        """
        places = np.asarray(numbers)[:, None] * self.length + np.arange(self.length + 1)
        ids = np.where(places < len(self._ids), self._ids[np.minimum(places, len(self._ids) - 1)], PAD_ID)
        token_ids, after = ids[:, :-1], ids[:, 1:]
        begins = token_ids == START_ID
        begins[:, 0] = True
        index = np.arange(self.length, dtype=np.int32)
        position_ids = index - np.maximum.accumulate(np.where(begins, index, 0), axis=1)
        return PackedRows(
            token_ids, np.where(after == START_ID, END_ID, after).astype(np.int32), position_ids
        )
