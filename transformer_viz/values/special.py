"""Names of special tokens, in vocabularies made here and elsewhere."""

from collections.abc import Iterable

import numpy as np

UNKNOWN = frozenset({"[UNK]", "<unk>"})
"""A word outside the vocabulary."""

MASKS = ("[MASK]", "<mask>")
"""A masked token."""

PADDING = "[PAD]"
"""Padding, as a text that is padded here shows it."""

PADDING_ELSEWHERE = "<pad>"
"""A token of models made elsewhere that is read like any other: the targets of T5 begin with it."""

EDGES = frozenset(
    {
        *("[START]", "[END]", "[CLS]", "[SEP]", "<s>", "</s>", "<bos>", "<eos>"),
        *("<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"),
    }
)
"""The beginning or the end of a text or a sentence."""

SPACE = "▁"
"""Prefix of a BPE token that begins a word."""

SPECIAL = UNKNOWN | EDGES | {PADDING, PADDING_ELSEWHERE, *MASKS}
"""All special tokens."""


def masked(tokens: Iterable[str]) -> np.ndarray:
    """Return the positions of masked tokens: int (any,)."""
    return np.flatnonzero([token in MASKS for token in tokens])


def is_spaced(tokens: Iterable[str]) -> bool:
    """Return whether any of these tokens marks a space, as BPE tokens do."""
    return any(token.startswith(SPACE) for token in tokens)
