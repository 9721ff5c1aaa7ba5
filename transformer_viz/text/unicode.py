"""Unicode: normalisation of input texts, and display forms of tokens."""

import re
import unicodedata
from itertools import groupby

MAX_SHOWN = 24
"""Most characters of a displayed token."""

MAX_MARKS = 4
"""Most consecutive combining marks of a displayed token."""

INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202f\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\u02ff\u200c\u200d])[\u200c\u200d](?![^\x00-\u02ff\u200c\u200d])"
    "|(?<=[\u200c\u200d])[\u200c\u200d]"
)
"""Invisible characters and bidirectional controls. A zero-width joiner or non-joiner is none beside a letter
that it shapes, as in Persian and Hindi, or a picture that it joins, unless there are several in a row.
"""


def clean_text(text: str) -> str:
    """Return text with lone surrogates replaced, in Unicode NFC."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = re.sub(r"[^\x00-\x7f]{1000,}", lambda run: _in_canonical_order(run[0]), text)
    return unicodedata.normalize("NFC", text)


def visible(token: str) -> str:
    r"""Return the display form of a token, without invisible characters and bidirectional controls.

    >>> visible("a\x00b")
    'a␀b'
    """
    runs = groupby(INVISIBLE.sub(_code_point, token), _is_mark)
    shown = "".join(_limited("".join(run)) if are_marks else "".join(run) for are_marks, run in runs)
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"


def _code_point(match):
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def _is_mark(character):
    return unicodedata.category(character).startswith("M")


def _limited(marks):
    return marks if len(marks) <= MAX_MARKS else marks[:MAX_MARKS] + "…"


def _in_canonical_order(text):
    """Return text in Unicode NFD; `unicodedata` takes quadratic time for a long run of marks."""
    parts = (part for character in text for part in unicodedata.normalize("NFD", character))
    pieces = []
    for are_marks, run in groupby(parts, lambda part: unicodedata.combining(part) > 0):
        characters = list(run)
        if are_marks:
            characters.sort(key=unicodedata.combining)
        pieces += characters
    return "".join(pieces)
