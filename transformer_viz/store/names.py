"""Names of models, runs and uploads: names of folders, with the letters and digits of any script."""

import re
import unicodedata

from transformer_viz.text.unicode import INVISIBLE

LONGEST = 64
"""Characters of the longest name."""

MOST_BYTES = 192
"""Bytes of the longest name in UTF-8: file systems allow 255, and hidden folders beside a model add to it."""

SUCCESSORS = {"hotel-zh": "reviews-zh"}
"""Name of a model that was once shipped -> the one that opens under it where no model has that name."""

_DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""Names that Windows reserves."""


def is_name(text: str) -> bool:
    """Return whether a text is a valid name on every system.

    It has letters and digits of any script, "_" and "-", begins with a letter or digit, and is in lower case
    and in Unicode NFC: some file systems do not tell such spellings apart.
    """
    return (
        0 < len(text) <= LONGEST
        and len(text.encode("utf-8", "replace")) <= MOST_BYTES
        and all(map(_fits, text))
        and unicodedata.category(text[0])[0] in "LN"
        and text == unicodedata.normalize("NFC", text.lower())
        and not _DEVICES.fullmatch(text)
    )


def name_from(text: str, longest: int = LONGEST) -> str:
    """Return the letters and digits of a text as a name, with "-" for all other characters.

    Args:
        text: Any text, say, the name of a file.
        longest: Most characters.

    Returns:
        A valid name, unless Windows reserves it; "" if the text has no letters or digits.
    """
    text = unicodedata.normalize("NFC", text[:1000].lower())
    name = re.sub("-+", "-", "".join(letter if _fits(letter) else "-" for letter in text))
    name = re.sub(r"^[\W_]+", "", name)[:longest]
    return name.encode()[:MOST_BYTES].decode("utf-8", "ignore").rstrip("-_")


def _fits(letter):
    """Return whether a name may have a character: a letter with its marks, a digit, "_" or "-"."""
    is_letter = unicodedata.category(letter) in ("Ll", "Lm", "Lo", "Lt", "Lu", "Mn", "Mc", "Nd")
    return letter in "_-" or (is_letter and not INVISIBLE.match(letter))
