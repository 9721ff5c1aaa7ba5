"""How the tokens of any vocabulary are shown: without its marks."""

import re
from collections.abc import Sequence

from transformer_viz.text.special import MASKS, SPACE, SPECIAL, UNKNOWN, is_spaced, is_special

CONTINUATION = "##"
"""Prefix of a WordPiece token that continues a word."""

BLANK = "␣"
"""Shown for a token of white space."""

UNSPACED = re.compile(
    "[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff65\U00020000-\U0003ffff]"
)
"""Chinese characters and punctuation, written without spaces."""

_SPACES = re.compile(f"^[ {SPACE}]+|{SPACE}")


def shown_pieces(tokens: Sequence[str]) -> list[str]:
    """Return the display forms of the tokens of a text, without the marks of their vocabulary.

    A token that continues a word has a hyphen in front; the first of a text, and one after a line break or a
    special token, continues none.

    >>> shown_pieces(["<s>", "The", "▁film", "s", "▁", "▁▁▁", "x"]), shown_pieces(["un", "##happy"])
    (['<s>', 'The', 'film', '-s', '␣', '␣␣␣', '-x'], ['un', '-happy'])
    """
    spaced = is_spaced(tokens)
    before = ["\n", *tokens]
    return [
        shown_piece(token, spaced and not _begins(last)) for last, token in zip(before, tokens, strict=False)
    ]


def shown_piece(token: str, spaced: bool) -> str:
    """Return the display form of one subword token, without the mark of its vocabulary.

    Args:
        token: Token of a vocabulary.
        spaced: Whether that vocabulary marks spaces, from `is_spaced`.

    >>> [shown_piece(token, True) for token in ("▁film", "s", "▁", "en_XX")], shown_piece("##s", False)
    (['film', '-s', '␣', 'en_XX'], '-s')
    """
    if token and not token.strip(f" {SPACE}"):
        return BLANK * len(token)
    if token.startswith(SPACE):
        return _SPACES.sub(lambda run: BLANK * len(run[0]), token.removeprefix(SPACE))
    if token.startswith(CONTINUATION) and len(token) > len(CONTINUATION):
        return _continued(token.removeprefix(CONTINUATION))
    return _continued(token) if spaced and token not in SPECIAL else token


def is_continued(shown: str) -> bool:
    """Return whether a display form is that of a token that continues a word: it has a hyphen in front."""
    return len(shown) > 1 and shown[0] == "-" and shown[1].isalnum()


def _begins(before):
    """Return whether a word begins after a token, wherever spaces are."""
    return before.endswith("\n") or (is_special(before) and before not in UNKNOWN and before not in MASKS)


def _continued(piece):
    return f"-{piece}" if piece[:1].isalnum() and not UNSPACED.match(piece) else piece
