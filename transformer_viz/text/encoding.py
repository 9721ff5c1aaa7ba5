"""Encodings: tokenized texts, with truncation, padding and permutation."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import PAD_ID
from transformer_viz.text.special import PAD


class NoTokensError(Problem):
    """The text has no tokens."""


class Encoding(NamedTuple):
    """A tokenized text.

    Attributes:
        text: The cleaned text; `offsets` point into it.
        ids: int32 (position,).
        tokens: Vocabulary strings; "[UNK]" for a word outside the vocabulary.
        offsets: (start, end) of each token in `text`, in characters.
        num_dropped: Number of tokens removed by truncation.
        cut_at: Index of the first token after the truncated part, `len(ids)` if that is the end; None
            without truncation.
    """

    text: str
    ids: np.ndarray
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    num_dropped: int
    cut_at: int | None

    def __repr__(self):
        return short_repr(self)

    @property
    def is_real(self) -> np.ndarray:
        """Which tokens are not [PAD]: bool (position,)."""
        return np.array([token != PAD for token in self.tokens], bool)

    def padded(self, count: int, *, max_len: int, pad_id: int = PAD_ID) -> Self:
        """Return a copy with `count` [PAD] appended, as in a batch with a longer text.

        Raises:
            ValueError: If `count` is negative, or the result is longer than `max_len`.
        """
        room = max_len - len(self.ids)
        if not 0 <= count <= max(room, 0):
            facts = {"room": max(room, 0), "tokens": len(self.ids), "most": max_len, "received": count}
            raise Problem("text.padding", **facts)
        end = (len(self.text), len(self.text))
        return self._replace(
            ids=np.concatenate([self.ids, np.full(count, pad_id, np.int32)]),
            tokens=(*self.tokens, *[PAD] * count),
            offsets=(*self.offsets, *[end] * count),
        )

    def replaced(self, places: Sequence[int], token_id: int, token: str) -> Self:
        """Return a copy in which a token stands in some places, with the offsets of what stood there."""
        ids, tokens = self.ids.copy(), [*self.tokens]
        for place in places:
            ids[place], tokens[place] = token_id, token
        return self._replace(ids=ids, tokens=tuple(tokens))

    def reordered(self, order: Sequence[int]) -> Self:
        """Return a copy with permuted tokens, each with its offsets in the text.

        Args:
            order: The tokens' indices in the new order.

        Raises:
            ValueError: If `order` is not a permutation.
        """
        if sorted(order) != list(range(len(self.ids))):
            raise Problem("changes.permutation", count=len(self.ids), received=str(list(order)))
        return self._replace(
            ids=self.ids[list(order)],
            tokens=tuple(self.tokens[i] for i in order),
            offsets=tuple(self.offsets[i] for i in order),
        )


def kept_positions(length: int, max_len: int, truncation: str) -> tuple[list[int], int | None]:
    """Return the kept positions, and the index of the first one after the truncated part."""
    if length <= max_len:
        return list(range(length)), None
    head = {"end": max_len, "middle": max_len // 4, "beginning": 0}[truncation]
    return [*range(head), *range(length - (max_len - head), length)], head
