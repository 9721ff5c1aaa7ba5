"""The words of a text that can be left out."""

from typing import NamedTuple

import numpy as np

from transformer_viz.text.encoding import Encoding
from transformer_viz.text.segmentation import chinese_words
from transformer_viz.text.special import UNKNOWN, is_special
from transformer_viz.trace.reshape import word_of_token


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        side: "text" or "target".
        text: As it stands there.
        start: Where it begins in that text, in characters.
        end: Where it ends.
        tokens: Positions of its tokens.
    """

    side: str
    text: str
    start: int
    end: int
    tokens: tuple[int, ...]


def words_of(source: Encoding, target: Encoding | None = None) -> list[Word]:
    """Return the words of a text, and of its target, in order.

    Sub-words are joined, Chinese characters as `chinese_words` finds words; punctuation is a word of its own;
    special tokens other than unknown words are none.
    """
    sides = {"text": source, "target": target}
    return [word for side, found in sides.items() if found is not None for word in _words(side, found)]


def _words(side, encoding):
    numbers = word_of_token(encoding.text, encoding.offsets, chinese_words(encoding.text))
    for number in range(numbers.max(initial=-1) + 1):
        places = np.flatnonzero(numbers == number).tolist()
        start, end = encoding.offsets[places[0]][0], encoding.offsets[places[-1]][1]
        tokens = [encoding.tokens[place] for place in places]
        if start < end and not any(is_special(token) and token not in UNKNOWN for token in tokens):
            yield Word(side, encoding.text[start:end], start, end, tuple(places))
