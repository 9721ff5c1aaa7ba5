"""Fonts of this computer that have the letters of some texts, for pictures that Matplotlib draws."""

import functools
import unicodedata
from collections.abc import Iterable, Sequence

from matplotlib import font_manager

from transformer_viz.language import Phrase, Problem, Words

LATIN = "DejaVu Sans"
"""Comes with Matplotlib; it has the letters of Europe, Arabic, and some signs and emoji."""

PLACEHOLDERS = "Last Resort"
"""Begins the name of the font that has a box for every letter."""

NORMAL = 400
"""Weight of a font that is neither light nor bold."""

EMOJI = "EMOJI"

OF_SCRIPT = {
    "CJK": (
        *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "Microsoft YaHei"),
        *("PingFang SC", "Hiragino Sans GB", "WenQuanYi Zen Hei", "SimHei", "Arial Unicode MS"),
    ),
    "KANA": (
        *("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "Yu Gothic", "Hiragino Sans", "Meiryo"),
    ),
    "HANGUL": ("Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic Neo"),
    "ARABIC": ("Noto Sans Arabic", "Segoe UI", "Geeza Pro", "Arial", "Tahoma"),
    "HEBREW": ("Noto Sans Hebrew", "Segoe UI", "Arial Hebrew", "Arial"),
    "DEVANAGARI": ("Noto Sans Devanagari", "Nirmala UI", "Kohinoor Devanagari", "Mangal"),
    "BENGALI": ("Noto Sans Bengali", "Nirmala UI", "Kohinoor Bangla"),
    "TAMIL": ("Noto Sans Tamil", "Nirmala UI", "Tamil MN"),
    "THAI": ("Noto Sans Thai", "Leelawadee UI", "Thonburi", "Tahoma"),
    EMOJI: ("Noto Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Symbola"),
}
"""Script -> fonts with its letters, those that suit most texts first."""

_JAPANESE = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")

_NO_GLYPH = frozenset({*range(0x200B, 0x2010), *range(0xFE00, 0xFE10), *range(0xE0020, 0xE0080)})
"""Joiners, variants and tags: a font may lack them, since they only change what is beside them."""


def fonts_of(texts: Iterable[str], wanted: str | Sequence[str] | None = None) -> list[str]:
    """Return names of installed fonts, in the order in which Matplotlib has to look for a letter.

    Args:
        texts: What is to be written.
        wanted: Name of a font, or several, to be taken first; None: `LATIN`.

    Raises:
        ValueError: If a wanted font is not installed, or no font has a letter of the texts.
    """
    texts = list(texts)
    asked = [wanted] if isinstance(wanted, str) else list(wanted or ())
    found, missing = [], _letters(texts)
    for name in [*asked, LATIN]:
        if name not in _installed():
            raise Problem("figures.font", name=name)
        found.append(name)
        missing -= _letters_of(name)
    scripts = {_script(letter) for letter in missing}
    for script in sorted(scripts, key=lambda script: _order(script, scripts)):
        for name in (*OF_SCRIPT.get(script, ()), *_installed()):
            lacking = {letter for letter in missing if _script(letter) == script}
            if lacking and name in _installed() and lacking <= _letters_of(name):
                found.append(name)
                missing -= _letters_of(name)
    for letter in sorted(missing):  # no font has all letters of its script
        name = next((name for name in _installed() if letter in _letters_of(name)), None)
        if name is None:
            raise _lacking(letter, texts)
        found.append(name)
    return list(dict.fromkeys(found))


def are_truetype(names: Iterable[str]) -> bool:
    """Return whether fonts have TrueType outlines. In a PDF, letters of others would be blank."""
    tables = [font_manager.get_font(_installed()[name]).get_sfnt_table("maxp") for name in names]
    return all(table is not None and table["version"] == (1, 0) for table in tables)


def _lacking(letter, texts):
    """Return the error about a letter that no font has, with a font that has it."""
    script = _script(letter)
    text = next(text for text in texts if letter in text)
    font = OF_SCRIPT.get(script, (f"Noto Sans {script.title()}",))[0]
    key = f"figures.script.{script.lower()}"
    named = Phrase(key) if Words("en").has(f"error.{key}") else script.title()
    return Problem("figures.letter", script=named, text=text, font=font)


def _letters(texts):
    return {
        letter
        for text in texts
        for letter in text
        if not letter.isspace() and letter.isprintable() and ord(letter) not in _NO_GLYPH
    }


def _script(letter):
    """Return the script of a letter, as Unicode names it; Japanese is written in one, as are emoji."""
    code = ord(letter)
    if code >= 0x1F000 or 0x2600 <= code < 0x27C0:
        return EMOJI if code < 0x20000 else "CJK"
    script = unicodedata.name(letter, "").split(" ")[0]
    return "KANA" if script in _JAPANESE else script


def _order(script, scripts):
    """Chinese characters in a Japanese or Korean text look as they do there: that font comes first."""
    return script == "CJK" and bool(scripts & {"KANA", "HANGUL"}), script


@functools.cache
def _installed():
    """Return name -> file of each font that can have any size: its upright face, nearest to normal weight."""
    found = {}
    for entry in font_manager.fontManager.ttflist:
        if entry.size == "scalable" and not entry.name.startswith(PLACEHOLDERS):
            weight = int(font_manager.weight_dict.get(str(entry.weight), entry.weight))
            rank = (entry.style != "normal", abs(weight - NORMAL))
            found[entry.name] = min(
                found.get(entry.name, (rank, entry)), (rank, entry), key=lambda each: each[0]
            )
    return {
        name: font_manager.FontPath(entry.fname, entry.index) for name, (_, entry) in sorted(found.items())
    }


@functools.cache
def _letters_of(name):
    """Return the letters of a font; none of one that cannot be drawn, as a font of coloured bitmaps."""
    try:
        font = font_manager.get_font(_installed()[name])
        font.set_size(10, 72)
        return frozenset(map(chr, font.get_charmap()))
    except (RuntimeError, ValueError, OSError):
        return frozenset()
