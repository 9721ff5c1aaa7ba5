"""Encodings of files: chosen, or told by a byte order mark, by being UTF-8, or by their characters."""

import codecs
import re
from typing import NamedTuple

from transformer_viz.language import Problem

UTF_8 = "UTF-8"

LOOKED_AT = 2**16
"""Bytes examined to recognise an encoding."""

ENCODINGS = {
    UTF_8: "utf-8-sig",
    "GBK": "gb18030",
    "Big5": "big5",
    "Shift JIS": "cp932",
    "EUC-JP": "euc_jp",
    "EUC-KR": "cp949",
    "Windows-1252": "cp1252",
    "Windows-1250": "cp1250",
    "Windows-1251": "cp1251",
    "KOI8-R": "koi8_r",
    "Windows-1253": "cp1253",
    "Windows-1254": "cp1254",
    "Windows-1255": "cp1255",
    "Windows-1256": "cp1256",
    "UTF-16": "utf-16",
    "UTF-32": "utf-32",
}
"""Name of each encoding that can be chosen -> its codec in Python."""

_ALIASES = {"iso8859-1": "Windows-1252", "ascii": UTF_8, "gbk": "GBK", "gb2312": "GBK"}
_ALIASES |= {"shift_jis": "Shift JIS", "euc_kr": "EUC-KR"}
"""Codec in Python -> the name of the encoding that contains it."""

FEW_BYTES = 0.05
"""Largest share of undecodable bytes, of the characters that are not ASCII, with which an encoding is still
recognised."""

UNDECODABLE = re.compile("[\udc80-\udcff]")
"""A byte that could not be decoded, as `decode` leaves it in a text."""

UNREADABLE = re.compile(f"{UNDECODABLE.pattern}|\x00")
"""A byte that could not be decoded, or a NUL character."""

_MARKS = {
    codecs.BOM_UTF32_LE: ("UTF-32", "utf-32"),
    codecs.BOM_UTF32_BE: ("UTF-32", "utf-32"),
    codecs.BOM_UTF16_LE: ("UTF-16", "utf-16"),
    codecs.BOM_UTF16_BE: ("UTF-16", "utf-16"),
}
"""Byte order mark -> name and codec; UTF-32 first, whose mark begins with that of UTF-16."""


class Decoded(NamedTuple):
    """Text of a file, without a byte order mark, and the name of its encoding.

    Bytes that do not belong to the encoding are `UNDECODABLE` characters in the text.
    """

    text: str
    encoding: str


class _Candidate(NamedTuple):
    """An encoding, and which characters are common in its language.

    Attributes:
        name: Name in `ENCODINGS`.
        common: Pattern of common characters.
        least: Least share of them among the characters that are not ASCII.
        frequent: The most frequent letters; of several encodings in which a text could be, the one with the
            largest share of them is meant.
    """

    name: str
    common: str
    least: float
    frequent: str


def encoding_named(name: str) -> str:
    """Return the name in `ENCODINGS` of an encoding by any of its usual names: "latin-1", "cp1252", "gb2312".

    Raises:
        Problem: If there is none.
    """
    codecs_of = {codecs.lookup(codec).name: known for known, codec in ENCODINGS.items()}
    for known in ENCODINGS:
        if name.strip().casefold() == known.casefold():
            return known
    try:
        codec = codecs.lookup(name.strip()).name
    except LookupError:
        codec = ""
    found = _ALIASES.get(codec) or codecs_of.get(codec) or codecs_of.get(f"{codec}-sig")
    if found is None:
        raise Problem("file.no_encoding", received=name, encodings=[*ENCODINGS])
    return found


def readable(text: str) -> str:
    """Return a text with a replacement character for each byte and character that cannot be read."""
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def has_mark(data: bytes) -> bool:
    """Return whether a file begins with the byte order mark of UTF-16 or UTF-32."""
    return data.startswith(tuple(_MARKS))


def decode(data: bytes, encoding: str = "") -> Decoded:
    """Return the text of a file and its encoding.

    Western European encodings are not recognised: they differ in a few letters only.

    Args:
        data: Content of the file.
        encoding: One of `ENCODINGS`; "": it is recognised.

    Raises:
        UnicodeDecodeError: If it is neither UTF-8 nor clearly in another encoding, but for a few bytes.
    """
    if encoding:
        return Decoded(data.decode(ENCODINGS[encoding], "surrogateescape"), encoding)
    for mark, (name, codec) in _MARKS.items():
        if data.startswith(mark):
            return Decoded(data.decode(codec), name)
    try:
        return Decoded(data.decode("utf-8-sig"), UTF_8)
    except UnicodeDecodeError as error:
        found = _recognised(data, error.start)
        if not found:
            raise
    return Decoded(data.decode(ENCODINGS[found], "surrogateescape"), found)


def _recognised(data, place):
    """Return the name of an encoding in which nearly all bytes are text; "" if none is clear.

    Args:
        data: Content of a file.
        place: Where it is no longer UTF-8.
    """
    sample = data[data.rfind(b"\n", 0, place) + 1 :][:LOOKED_AT]
    for most in (0.0, FEW_BYTES):
        fits = {each.name: share for each in _CANDIDATES if (share := _fit(sample, each, most)) is not None}
        for name in sorted(fits, key=lambda name: -fits[name]):
            if _undecodable_share(data.decode(ENCODINGS[name], "surrogateescape")) <= most:
                return name
    mostly = data.decode("utf-8", "surrogateescape")
    return UTF_8 if _undecodable_share(mostly) <= FEW_BYTES else ""


def _undecodable_share(text):
    """Return the share of undecodable bytes among the characters that are not ASCII."""
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return len(UNDECODABLE.findall(text)) / max(foreign, 1)


def _fit(sample, candidate, most):
    """Return the share of the most frequent letters of an encoding's language in a sample.

    None if it is no text in that encoding: too many bytes are none of its characters, or too few of them are
    common.
    """
    decoder = codecs.getincrementaldecoder(ENCODINGS[candidate.name])("surrogateescape")
    text = decoder.decode(sample)  # the sample may end within a character
    foreign = [character for character in text if character > "\x7f"]
    common = sum(len(match[0]) for match in re.finditer(candidate.common, text))
    if not 0 < candidate.least * len(foreign) <= common or _undecodable_share(text) > most:
        return None
    return sum(character.lower() in candidate.frequent for character in foreign) / len(foreign)


def _rows(codec, first, last):
    """Return the pattern of the characters of two bytes whose first one is in a range."""
    pairs = (bytes((row, column)) for row in range(first, last + 1) for column in range(0x40, 0xFF))
    characters = "".join(pair.decode(codec, "ignore") for pair in pairs)
    return f"[{re.sub('[ -~]', '', characters)}]"


_WORD = r"\b[А-ЯЁЄІЇҐ]?[а-яёєіїґ]{2,}\b"
"""A Russian or Ukrainian word: the letters of other languages would stand alone or beside Latin ones."""

_HANZI = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种"
    "事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公"
    "此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体美相见被利什二等产或新己身果加月话合回特代内信表化"
    "老给世位次度门任先海通教儿原东声提立及比员解水名真论处走各入几口认条平系气题活别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直快吃差店味房服满送服钱買還這們說時會對過發後來為個沒好看電影與間問題點實種長開從給"
)
_KANA = "のにはをたがでてとしれさいなるかもこすらまりんつけっくあよわきちうおそせねみめーコトイアルスンラリ"
_HANGUL = (
    "이다는에을의가고하지한은를로니기서사어도나있시해인것들그리대자아수라보게일만면정부제전요안주여과원상우오동장없스구성거세"
    "마으위방했내너적조음였었야소유중습더할까될때네무생려러되같았않화영연신좋재미비용최배"
)
_CYRILLIC = "оеаинтсрвлкмдпуяыьгз"
_RUSSIAN = (_WORD, 0.7, _CYRILLIC)

_CANDIDATES = (
    _Candidate("Shift JIS", "[ぁ-ヿ]", 0.3, _KANA),
    _Candidate("EUC-JP", "[ぁ-ヿ]", 0.3, _KANA),
    _Candidate("Windows-1251", *_RUSSIAN),
    _Candidate("KOI8-R", *_RUSSIAN),
    _Candidate("EUC-KR", _rows("euc_kr", 0xB0, 0xC8), 0.95, _HANGUL),
    _Candidate("GBK", f"[，。！？、；：（）“”‘’…—]|{_rows('gb2312', 0xB0, 0xD7)}", 0.8, _HANZI),
    _Candidate("Big5", f"[，。！？、；：（）「」…]|{_rows('big5', 0xA4, 0xC6)}", 0.8, _HANZI),
)
"""Encodings that are recognised: the text of one may be valid in another, but of rare characters."""
