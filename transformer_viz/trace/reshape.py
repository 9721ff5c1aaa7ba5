"""Transformations of attention weights: merged words, subsets of tokens, and rollout."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

SENTENCE_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？]+[”’」』）]*|\n")
"""The end of a sentence; not a point within a number or a word."""

JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner, which shape the letters of a word."""


def word_of_token(
    text: str, offsets: Sequence[tuple[int, int]], words: Iterable[tuple[int, int]] = ()
) -> np.ndarray:
    """Return the word of each token.

    Two tokens belong to one word if they are adjacent and meet at letters or digits, or within one of
    `words`. Other Chinese, Japanese and Korean tokens are words of their own, as are special tokens, which
    have no width.

    Args:
        text: The text.
        offsets: (start, end) of each token in it, in characters.
        words: (start, end) of words in it, as `chinese_words` returns them.

    Returns:
        int (position,): index of the word.
    """
    inside = {place for start, end in words for place in range(start + 1, end)}
    found = []
    for number, (start, end) in enumerate(offsets):
        joined = (
            number > 0
            and 0 < start < end
            and start == offsets[number - 1][1]
            and (start in inside or all(map(_is_letter, text[start - 1 : start + 1])))
        )
        found.append((found[-1] if found else -1) + (not joined))
    return np.array(found, int)


def sentence_of_token(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the sentence of each token; sentences end at a full stop, !, ? or line break.

    Args:
        text: The text.
        offsets: (start, end) of each token in it, in characters.

    Returns:
        int (position,): index of the sentence.

    >>> sentence_of_token("No. Yes.", [(0, 2), (2, 3), (4, 7), (7, 8)]).tolist()
    [0, 0, 1, 1]
    """
    last = max((start for start, end in offsets if end > start), default=0)
    ends = [found.end() for found in SENTENCE_END.finditer(text) if found.end() <= last]
    return np.array([min(bisect_right(ends, start), len(ends)) for start, _ in offsets], int)


def merge_words(weights: ArrayLike, query_words: np.ndarray, key_words: np.ndarray) -> np.ndarray:
    """Return attention between words: columns of a word are summed, rows are averaged.

    Rows that sum to 1 still do (Clark et al., 2019, "What Does BERT Look At?", section 4.1).

    Args:
        weights: float (..., query, key).
        query_words: int (query,): word of each row, from `word_of_token`.
        key_words: int (key,): word of each column.

    Returns:
        float32 (..., query word, key word).
    """
    weights = np.asarray(weights, dtype=np.float64)
    rows = np.eye(query_words.max(initial=-1) + 1)[query_words]
    columns = np.eye(key_words.max(initial=-1) + 1)[key_words]
    merged = np.swapaxes(rows / rows.sum(axis=0), 0, 1) @ weights @ columns
    return merged.astype(np.float32)


def renormalise(weights: ArrayLike, stay: np.ndarray) -> np.ndarray:
    """Return attention without some of its weights, with each row normalised again.

    Args:
        weights: float (..., query, key).
        stay: bool (query, key), weights to keep.

    Returns:
        float32 (..., query, key), 0 where a weight was taken away; a row without weight is 0.
    """
    kept = np.asarray(weights, dtype=np.float64) * stay
    sums = kept.sum(axis=-1, keepdims=True)
    return np.divide(kept, sums, out=np.zeros_like(kept), where=sums > 0).astype(np.float32)


def rollout(weights: ArrayLike) -> np.ndarray:
    """Return the attention rollout up to each layer (Abnar and Zuidema, 2020).

    In each layer, half comes from the residual stream and half from the mean of the heads.

    Args:
        weights: float (layer, head, query, key) of self-attention.

    Returns:
        float32 (layer, query, key); rows sum to 1.
    """
    flow, reached = np.eye(np.shape(weights)[-1]), []
    for layer in np.asarray(weights, dtype=np.float64).mean(axis=1):
        mixed = 0.5 * layer + 0.5 * np.eye(len(layer))
        flow = (mixed / mixed.sum(axis=-1, keepdims=True)) @ flow
        reached.append(flow)
    return np.array(reached, np.float32)


def _is_letter(character):
    """Return whether a character is within a word: letters, digits, their marks, and joiners."""
    is_part = character.isalnum() or character in JOINERS or unicodedata.category(character)[0] == "M"
    return is_part and unicodedata.east_asian_width(character) not in "WF"
