"""Encodings of files: a byte order mark, UTF-8, or one that the characters leave no doubt about."""

import codecs
import re
from typing import NamedTuple

UTF_8 = "UTF-8"

LOOKED_AT = 2**16
"""Bytes examined to recognise an encoding."""

_MARKS = {
    codecs.BOM_UTF32_LE: ("UTF-32", "utf-32"),
    codecs.BOM_UTF32_BE: ("UTF-32", "utf-32"),
    codecs.BOM_UTF16_LE: ("UTF-16", "utf-16"),
    codecs.BOM_UTF16_BE: ("UTF-16", "utf-16"),
}
"""Byte order mark -> name and codec; UTF-32 first, whose mark begins with that of UTF-16."""


class Decoded(NamedTuple):
    """Text of a file, without a byte order mark, and the name of its encoding."""

    text: str
    encoding: str


class _Candidate(NamedTuple):
    """An encoding, and which characters are common in its language.

    Attributes:
        name: Name to show.
        codec: Name in Python.
        common: Pattern of common characters.
        least: Least share of them among the characters that are not ASCII.
    """

    name: str
    codec: str
    common: str
    least: float


def has_mark(data: bytes) -> bool:
    """Return whether a file begins with the byte order mark of UTF-16 or UTF-32."""
    return data.startswith(tuple(_MARKS))


def decode(data: bytes) -> Decoded:
    """Return the text of a file and its encoding.

    Western European encodings are not recognised: they differ in a few letters only.

    Raises:
        UnicodeDecodeError: If it is neither UTF-8 nor clearly in another encoding, or damaged.
    """
    for mark, (name, codec) in _MARKS.items():
        if data.startswith(mark):
            return Decoded(data.decode(codec), name)
    try:
        return Decoded(data.decode("utf-8-sig"), UTF_8)
    except UnicodeDecodeError as error:
        sample = data[data.rfind(b"\n", 0, error.start) + 1 :][:LOOKED_AT]
        found = next((each for each in _CANDIDATES if _is_likely(sample, each)), None)
        if found is None:
            raise
        try:
            return Decoded(data.decode(found.codec), found.name)
        except UnicodeDecodeError:
            raise error from None


def _is_likely(sample, candidate):
    """Return whether bytes are text in an encoding, with enough common characters."""
    decoder = codecs.getincrementaldecoder(candidate.codec)()  # the sample may end within a character
    try:
        text = decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    foreign = sum(character > "\x7f" for character in text)
    common = sum(len(match[0]) for match in re.finditer(candidate.common, text))
    return 0 < candidate.least * foreign <= common


def _rows(codec, first, last):
    """Return the pattern of the characters of two bytes whose first one is in a range."""
    pairs = (bytes((row, column)) for row in range(first, last + 1) for column in range(0x40, 0xFF))
    characters = "".join(pair.decode(codec, "ignore") for pair in pairs)
    return f"[{re.sub('[ -~]', '', characters)}]"


_WORD = r"\b[А-ЯЁЄІЇҐ]?[а-яёєіїґ]{2,}\b"
"""A Russian or Ukrainian word: the letters of other languages would stand alone or beside Latin ones."""

_CANDIDATES = (
    _Candidate("Shift JIS", "cp932", "[ぁ-ヿ]", 0.3),
    _Candidate("EUC-JP", "euc_jp", "[ぁ-ヿ]", 0.3),
    _Candidate("Windows-1251", "cp1251", _WORD, 0.7),
    _Candidate("KOI8-R", "koi8_r", _WORD, 0.7),
    _Candidate("EUC-KR", "cp949", _rows("euc_kr", 0xB0, 0xC8), 0.95),
    _Candidate("GBK", "gb18030", f"[，。！？、；：（）“”‘’…—]|{_rows('gb2312', 0xB0, 0xD7)}", 0.8),
    _Candidate("Big5", "big5", f"[，。！？、；：（）「」…]|{_rows('big5', 0xA4, 0xC6)}", 0.8),
)
"""In the order in which they are tried: the text of one may be valid in another, but of rare characters."""
