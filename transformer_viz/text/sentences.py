"""Sentences of a text, and one of them, as short as what people type."""

import re

import numpy as np

from transformer_viz.text.kinds import LINE_BREAK

BEGINNING = 20
"""Words, or Chinese characters, that are read of a text without sentences."""

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


def one_sentence(text: str, random: np.random.Generator) -> str:
    """Return a random sentence of a text, or the first `BEGINNING` words of one that is not divided."""
    sentences = sentences_of(text)
    if len(sentences) > 1:
        return sentences[random.integers(len(sentences))]
    units = [*_UNIT.finditer(text)]
    return text[: units[BEGINNING - 1].end()] if len(units) > BEGINNING else text
