"""Blocks of tokens, for texts too long to draw one cell per token pair."""

from collections.abc import Sequence

MAX_CELLS = 192
"""Maximum number of rows or columns drawn."""


def block_names(tokens: Sequence[str], block: int) -> list[str]:
    """Return a name for each block of `block` tokens: its first and last token."""
    starts = range(0, len(tokens), block)
    return [" … ".join(dict.fromkeys([tokens[i], tokens[i : i + block][-1]])) for i in starts]
