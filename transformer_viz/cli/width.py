"""Texts as wide as they look on a terminal, where a Chinese character takes two columns."""

import re
import unicodedata

OPENING, CLOSING = "（“‘《【", "，。、；：？！）”’》】…—"

CHINESE = "\u2e80-\u2fff\u3040-\u9fff"

PIECES = re.compile(
    rf"\s+|[{OPENING}]*(?:[{CHINESE}]|[^\s{CHINESE}{OPENING}{CLOSING}]+)[{CLOSING}]*|[{OPENING}{CLOSING}]+"
)
"""What stays on one line: a word, or a Chinese character with the punctuation that belongs to it."""


def width(text: str) -> int:
    """Return the number of columns of a text.

    >>> width("usage"), width("用法")
    (5, 4)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "FW" else 1 for letter in text)


def padded(text: str, columns: int) -> str:
    """Return a text with spaces behind it, so that it takes so many columns."""
    return text + " " * (columns - width(text))


def wrapped(text: str, columns: int) -> list[str]:
    """Return the lines of a text, each at most so many columns wide unless a single word is wider.

    >>> wrapped("训练一个模型，并保存。", 10)
    ['训练一个模', '型，并保', '存。']
    """
    lines = [""]
    for piece in PIECES.findall(text):
        if width(lines[-1] + piece.rstrip()) > columns and lines[-1].strip():
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]
