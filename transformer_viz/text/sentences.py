"""Sentences of a text: passages as short as what people type."""

import re

import numpy as np

from transformer_viz.text.kinds import LINE_BREAK

PASSAGE = 20
"""Words, or Chinese characters, of a passage of a text that has no sentences."""

_LINE = re.compile(rf"{LINE_BREAK}|[\r\n]+")

_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？]+[”’」』）]*|$)")

_UNIT = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in order; what has no letter and no digit is none.

    They end with a line, with 。！？, and with .!? before white space.

    >>> sentences_of("A good film. It cost 3.5 million!"), sentences_of("很好！“不错。”下次还来。")
    (['A good film.', 'It cost 3.5 million!'], ['很好！', '“不错。”', '下次还来。'])
    """
    parts = (part.strip() for line in _LINE.split(text) for part in _SENTENCE.findall(line))
    return [part for part in parts if any(map(str.isalnum, part))]


def passages_of(text: str) -> list[str]:
    """Return the sentences of a text, in order; of one that is not divided, passages of `PASSAGE` words."""
    sentences = sentences_of(text)
    if len(sentences) > 1:
        return sentences
    units = [*_UNIT.finditer(text)]
    ends = [(first, first + PASSAGE - 1) for first in range(0, len(units) - PASSAGE + 1, PASSAGE)]
    return [text[units[first].start() : units[last].end()] for first, last in ends] or [text]


def some_passages(text: str, count: int, random: np.random.Generator) -> list[str]:
    """Return random passages of a text, in order: so many, or all if there are fewer."""
    passages = passages_of(text)
    return [passages[number] for number in sorted(random.permutation(len(passages))[:count])]
