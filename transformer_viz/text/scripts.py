"""Writing systems: the script that most words of some texts are written in."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

MOST_CHARS = 500
"""Characters of each text that are examined."""

CJK = "CJK"

UNSPACED = (CJK, "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts that are written without spaces between words."""

_MIXED = {"HIRAGANA": CJK, "KATAKANA": CJK}
"""Scripts that are written together with another."""

_WORD = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]|[^\\W\\d_]+"
)
"""A character of a script without spaces, else a run of letters."""


def main_script(texts: Iterable[object]) -> str:
    """Return the script of most words of some texts, as Unicode names it; "" without words.

    A character of a script without spaces counts as a word. Kana count as `CJK`. What is not a string has no
    words.

    >>> main_script(["A film.", "Two films"]), main_script(["我看了《Titanic》"]), main_script(["3 + 4"])
    ('LATIN', 'CJK', '')
    """
    first = (word[0] for text in texts if isinstance(text, str) for word in _WORD.findall(text[:MOST_CHARS]))
    scripts = Counter()
    for letter, count in Counter(first).items():
        script = unicodedata.name(letter, "").split(" ")[0]
        scripts[_MIXED.get(script, script)] += count
    return max(scripts, key=scripts.__getitem__, default="")
