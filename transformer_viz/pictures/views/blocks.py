"""Texts that are too long for a cell of each two tokens: a cell then stands for a block of them."""

MAX_CELLS = 192
"""Rows or columns that are drawn at most: a screen without room for all of them drops any."""


def block_names(tokens, block) -> list[str]:
    """Return the name of each block of so many tokens: its first and its last one."""
    starts = range(0, len(tokens), block)
    return [" … ".join(dict.fromkeys([tokens[i], tokens[i : i + block][-1]])) for i in starts]
