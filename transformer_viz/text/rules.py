"""Allowlist of the parts of a `tokenizer.json`: allowed values of their fields, and how they lengthen a text.

Such a file is a small program for the `tokenizers` library. A rule in it may replace each letter by thirty,
and eight such rules make 656 billion of one; a regular expression may take exponential time.
"""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from transformer_viz.language import Phrase
from transformer_viz.text.kinds import PATTERNS

MAX_GROWTH = 1_000
"""Most characters that may replace one character."""

MAX_STEPS = 32
"""Most steps of a normalizer, a pre-tokenizer or a similar part."""

MAX_TOKENS = 300_000
"""Most tokens in a vocabulary."""

MAX_ADDED = 2_000
"""Most added tokens, each searched for in every text."""

MAX_MERGES = 2 * MAX_TOKENS
"""Most pairs of tokens that are merged."""

MAX_PIECE = 128
"""Longest Unigram token in characters; Unigram tries all lengths at each position."""

MAX_WORD = 200
"""Longest word for WordPiece in characters; its time is quadratic in them."""

KNOWN_PATTERNS = {
    *PATTERNS,
    r"\s+",
    r" {2,}",
    r"\A | \z",
    r"\p{N}",
    r"\p{N}{1,3}",
    r"[0-9][0-9][0-9]",
    # GPT-2
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # CLIP
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    # Llama 3, and Qwen with one digit at a time
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""Allowed regular expressions: those of this program and common ones, all linear in time."""


class Field(NamedTuple):
    """Allowed values of a field: a predicate, and its description."""

    holds: Callable[[object], bool]
    what: Phrase


class Part(NamedTuple):
    """Allowed fields of a part, and the most characters it makes of one: a number, or a function of them."""

    fields: Mapping[str, Field] = MappingProxyType({})
    growth: int | Callable[[dict], int] = 1


def _whole(most, least=0):
    return Field(
        lambda v: type(v) is int and least <= v <= most, Phrase("field.whole", least=least, most=most)
    )


def _text(most, least=0):
    what = Phrase("field.text", least=least, most=most)
    return Field(lambda v: isinstance(v, str) and least <= len(v) <= most, what)


def _optional(field):
    return Field(lambda v: v is None or field.holds(v), Phrase("field.or_null", what=field.what))


def _one_of(*values):
    return Field(lambda v: v in values, Phrase("rule.choice", choices=", ".join(map(repr, values))))


def _is_pattern(value):
    if not isinstance(value, dict) or len(value) != 1:
        return False
    [(kind, text)] = value.items()
    if not isinstance(text, str):
        return False
    return text in KNOWN_PATTERNS if kind == "Regex" else kind == "String" and 1 <= len(text) <= 64


def _replacement_growth(fields):
    """Return the growth factor of a replacement; a regular expression may match a single character."""
    return max(1, math.ceil(len(fields["content"]) / len(fields["pattern"].get("String", "."))))


def _charsmap_growth(fields):
    """Return the length of the longest replacement in a sentencepiece character map.

    Its format: the size of a trie in four bytes, the trie, and zero-terminated texts.
    """
    data = base64.b64decode(fields["precompiled_charsmap"])
    size = int.from_bytes(data[:4], "little")
    return max(1, *(len(text.decode()) for text in data[4 + size :].split(b"\0")))


def _is_charsmap(value):
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
        size = int.from_bytes(data[:4], "little")
        data[4 + size :].decode()
    except (ValueError, binascii.Error):
        return False
    return len(data) <= 2**20 and size % 4 == 0 and 1024 <= size <= len(data) - 4


FLAG = Field(lambda v: isinstance(v, bool), Phrase("field.flag"))
SWITCH = _optional(FLAG)
MARK = _text(16)
LETTER = _text(1, 1)
PATTERN = Field(_is_pattern, Phrase("field.pattern"))
BEHAVIOR = _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
BYTES = {"add_prefix_space": FLAG, "trim_offsets": FLAG, "use_regex": FLAG}
CHARSMAP = Field(_is_charsmap, Phrase("field.charsmap"))
METASPACE = {
    "replacement": LETTER,
    "str_rep": LETTER,
    "add_prefix_space": FLAG,
    "prepend_scheme": _one_of("always", "never", "first"),
    "split": FLAG,
}
SPECIAL = Field(
    lambda v: isinstance(v, list) and len(v) == 2 and isinstance(v[0], str) and type(v[1]) is int,
    Phrase("field.special"),
)


def _is_template(value):
    """Return whether there are few pieces, with each text at most once."""
    pieces = value if isinstance(value, list) and len(value) <= MAX_STEPS else [None]
    texts = [str(piece["Sequence"]) for piece in pieces if isinstance(piece, dict) and "Sequence" in piece]
    return all(isinstance(piece, dict) for piece in pieces) and len(set(texts)) == len(texts) <= 2


def _are_specials(value):
    specials = value.values() if isinstance(value, dict) and len(value) <= MAX_STEPS else [None]
    return all(
        isinstance(each, dict) and _are_pairs(each.get("ids"), each.get("tokens")) for each in specials
    )


def _are_pairs(ids, tokens):
    return isinstance(ids, list) and isinstance(tokens, list) and len(ids) == len(tokens) <= MAX_STEPS


TEMPLATE = Field(_is_template, Phrase("field.template", most=MAX_STEPS))
SPECIALS = Field(_are_specials, Phrase("field.specials", most=MAX_STEPS))
VOCABULARY = Field(
    lambda v: isinstance(v, dict) and len(v) <= MAX_TOKENS,
    Phrase("field.vocabulary", most=MAX_TOKENS),
)
PIECES = Field(
    lambda v: (
        isinstance(v, list)
        and len(v) <= MAX_TOKENS
        and all(isinstance(each, list) and each and _text(MAX_PIECE).holds(each[0]) for each in v)
    ),
    Phrase("field.pieces", most=MAX_TOKENS, longest=MAX_PIECE),
)
MERGES = Field(lambda v: isinstance(v, list) and len(v) <= MAX_MERGES, Phrase("field.merges"))

PARTS = {
    "model": {
        "WordLevel": Part({"vocab": VOCABULARY, "unk_token": MARK}),
        "WordPiece": Part(
            {
                "vocab": VOCABULARY,
                "unk_token": MARK,
                "continuing_subword_prefix": MARK,
                "max_input_chars_per_word": _whole(MAX_WORD, least=1),
            }
        ),
        "BPE": Part(
            {
                "vocab": VOCABULARY,
                "merges": MERGES,
                "dropout": Field(lambda v: not v, Phrase("field.dropout")),
                "unk_token": _optional(MARK),
                "continuing_subword_prefix": _optional(MARK),
                "end_of_word_suffix": _optional(MARK),
                "fuse_unk": FLAG,
                "byte_fallback": FLAG,
                "ignore_merges": FLAG,
            }
        ),
        "Unigram": Part({"vocab": PIECES, "unk_id": _optional(_whole(MAX_TOKENS)), "byte_fallback": FLAG}),
    },
    "normalizer": {
        "NFC": Part(growth=3),
        "NFD": Part(growth=4),
        "NFKC": Part(growth=18),
        "NFKD": Part(growth=18),
        "Lowercase": Part(growth=2),
        "StripAccents": Part(),
        "Nmt": Part(),
        "Strip": Part({"strip_left": FLAG, "strip_right": FLAG}),
        "BertNormalizer": Part(
            {
                **dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), FLAG),
                "strip_accents": SWITCH,
            },
            growth=4,
        ),
        "Prepend": Part({"prepend": MARK}),
        "Replace": Part({"pattern": PATTERN, "content": MARK}, growth=_replacement_growth),
        "Precompiled": Part({"precompiled_charsmap": CHARSMAP}, growth=_charsmap_growth),
        "ByteLevel": Part(growth=4),
    },
    "pre_tokenizer": {
        "BertPreTokenizer": Part(),
        "Whitespace": Part(),
        "WhitespaceSplit": Part(),
        "UnicodeScripts": Part(),
        "Digits": Part({"individual_digits": FLAG}),
        "Punctuation": Part({"behavior": BEHAVIOR}),
        "CharDelimiterSplit": Part({"delimiter": LETTER}),
        "Metaspace": Part(METASPACE),
        "Split": Part({"pattern": PATTERN, "behavior": BEHAVIOR, "invert": FLAG}),
        "ByteLevel": Part(BYTES, growth=4),
    },
    "post_processor": {
        "BertProcessing": Part({"sep": SPECIAL, "cls": SPECIAL}),
        "RobertaProcessing": Part(
            {"sep": SPECIAL, "cls": SPECIAL, "trim_offsets": FLAG, "add_prefix_space": FLAG}
        ),
        "TemplateProcessing": Part({"single": TEMPLATE, "pair": TEMPLATE, "special_tokens": SPECIALS}),
        "ByteLevel": Part(BYTES),
    },
    "decoder": {
        "Fuse": Part(),
        "ByteFallback": Part(),
        "BPEDecoder": Part({"suffix": MARK}),
        "WordPiece": Part({"prefix": MARK, "cleanup": FLAG}),
        "Strip": Part({"content": LETTER, "start": _whole(16), "stop": _whole(16)}),
        "Replace": Part({"pattern": PATTERN, "content": MARK}, growth=_replacement_growth),
        "Metaspace": Part(METASPACE),
        "ByteLevel": Part(BYTES),
    },
}
"""Kind of part -> type -> its `Part`."""
