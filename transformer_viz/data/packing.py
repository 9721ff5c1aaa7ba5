"""Texts one after the other in rows of one length: nothing of a batch is padding, and no text is cut off.

A text that does not fit into what is left of a row goes on in the next one. No token reads one of another
text, and positions count from 0 where a text, or the part of one in a row, begins: the model reads each part
as a text by itself.
"""

import math
from typing import NamedTuple

import numpy as np

from transformer_viz.values.config import END_ID, PAD_ID, START_ID

NO_LIMIT = 2**31
"""More tokens than a text has: nothing of it is cut off when it is encoded."""


class PackedRows(NamedTuple):
    """Some rows of a stream.

    Attributes:
        token_ids: int32 (row, position), what is read.
        next_ids: int32 (row, position), the token that comes after each; [END] after the last one of a text,
            [PAD] where nothing is to be predicted.
        position_ids: int32 (row, position), counted from 0 in each text.
    """

    token_ids: np.ndarray
    next_ids: np.ndarray
    position_ids: np.ndarray

    def inputs(self, config) -> dict[str, np.ndarray]:
        """Return the arguments of `Transformer.trace` with which a model reads each text by itself."""
        return {
            "token_ids": self.token_ids,
            "position_ids": self.position_ids + np.int32(config.padding_position),
            "attention_mask": self.mask(causal=config.causal, window=config.window),
        }

    @property
    def texts(self) -> np.ndarray:
        """Which text of its row each token belongs to, counted from 1: int (row, position)."""
        return np.cumsum(self.position_ids == 0, axis=1)

    def mask(self, *, causal, window=None) -> np.ndarray:
        """Return which tokens may read which: bool (row, 1, query, key), those of their own text.

        Args:
            causal: Only itself and those before.
            window: Only those at most so far away; None: all.
        """
        texts, index = self.texts, np.arange(self.token_ids.shape[1])
        mask = texts[:, :, None] == texts[:, None, :]
        if causal:
            mask &= index[None, :] <= index[:, None]
        if window is not None:
            mask &= np.abs(index[None, :] - index[:, None]) <= window
        return mask[:, None]


class Stream:
    """Texts, each after a [START], as one long row that is cut into rows of one length.

    Args:
        token_ids: One int array for each text, without [START] and [END].
        length: Tokens of a row.
        order: Index of each text once; None: as they are.

    >>> Stream([[7, 8], [9]], 4).rows([0]).next_ids.tolist()
    [[7, 8, 3, 9]]
    """

    def __init__(self, token_ids, length, order=None):
        self.length = length
        start = np.array([START_ID], np.int32)
        order = range(len(token_ids)) if order is None else order
        texts = [part for text in order for part in (start, token_ids[text])]
        self._ids = np.concatenate([*texts, start], dtype=np.int32)

    def __len__(self):
        """Return the number of rows."""
        return math.ceil((len(self._ids) - 1) / self.length)

    def rows(self, numbers) -> PackedRows:
        """Return some rows; the last of the stream is filled up with [PAD].

        Args:
            numbers: int (row,), which ones.
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
