"""Tokens of byte-level BPE, which write each byte as a character, as the texts that they stand for."""

import codecs
import re
from collections.abc import Sequence
from itertools import groupby

from transformer_viz.text.special import SPACE, is_special

BYTE_SPACE = "Ġ"
"""A space at the beginning of a token (Radford et al., 2019)."""

LATIN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
"""The bytes that stand for themselves; U+0100 and the following characters stand for the others in turn."""

BYTES = {chr(byte): byte for byte in LATIN} | {
    chr(0x100 + number): byte for number, byte in enumerate(byte for byte in range(256) if byte not in LATIN)
}
"""Character -> the byte that it stands for, as in GPT-2's `bytes_to_unicode`."""

LATER_BYTES = 3
"""Most bytes of a character after its first: so many may be missing where tokens are a part of a text."""

_SEQUENCE = re.compile(b"[\xc2-\xf4][\x80-\xbf]+")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FALLBACK = re.compile("<0x([0-7][0-9A-F])>")


def with_characters(tokens: Sequence[str]) -> list[str]:
    """Return tokens with the characters that bytes stand for, and `SPACE` for a space in front.

    Tokens are bytes if all of them together are UTF-8 and ordinary text would not look like that: one begins
    with "Ġ", or holds a character of several bytes. Special tokens, and those that a user has added, stay as
    they are. A part of a character is a replacement character.

    >>> with_characters(["Ġä½łå¥½", "ä½"]), with_characters(["ä»Ĭå¤©"]), with_characters(["▁film", "ä"])
    (['▁你好', '�'], ['今天'], ['▁film', 'ä'])
    """
    if not _are_bytes(tokens):
        return [from_fallback(token) for token in tokens]
    texts = [_bytes(token).decode(errors="replace") if _is_spelled(token) else token for token in tokens]
    return [SPACE + text[1:] if text.startswith(" ") else text for text in texts]


def from_fallback(token: str) -> str:
    """Return the character of a token such as "<0x0A>", which stands for what a vocabulary lacks; any other
    token, also one that is a part of a character, as it is.
    """
    byte = _FALLBACK.fullmatch(token)
    return chr(int(byte[1], 16)) if byte else token


def _are_bytes(tokens):
    runs = [list(run) for spelled, run in groupby(tokens, _is_spelled) if spelled]
    has_spaces = any(token.startswith(BYTE_SPACE) for run in runs for token in run)
    if not has_spaces and not all(_is_spelled(token) or is_special(token) for token in tokens):
        return False
    has_sequences = any(_SEQUENCE.search(_bytes(token)) for run in runs for token in run)
    return (has_spaces or has_sequences) and all(_is_text(b"".join(map(_bytes, run))) for run in runs)


def _is_spelled(token):
    return not is_special(token) and all(character in BYTES for character in token)


def _bytes(token):
    return bytes(BYTES[character] for character in token)


def _is_text(spelled):
    """Return whether bytes are UTF-8 as texts have it, perhaps without the ends of the first and last
    character.
    """
    begin = next((i for i, byte in enumerate(spelled[:LATER_BYTES]) if byte & 0xC0 != 0x80), LATER_BYTES)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(spelled[begin:])
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(text) is None
