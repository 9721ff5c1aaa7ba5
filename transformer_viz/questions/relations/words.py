"""Attention between the words of a sentence, and what predicts the target of a relation without it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def words_at(offsets: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the word in which each token begins: int (token,); -1 for none.

    Args:
        offsets: (start, end) of each token, in characters; white space in front of it is passed over.
        words: (start, end) of each word, in order.

    >>> words_at([(0, 0), (0, 2), (2, 5), (5, 9)], [(0, 5), (6, 9)]).tolist()
    [-1, 0, 0, 1]
    """
    found = np.full(len(offsets), -1)
    for token, (start, end) in enumerate(offsets):
        inside = [number for number, word in enumerate(words) if word[0] < end and start < word[1]]
        if inside and end > start:
            found[token] = inside[0]
    return found


def most_read_words(weights: ArrayLike, words: np.ndarray, count: int, allowed: np.ndarray) -> np.ndarray:
    """Return the word that each word reads most.

    Weights to the tokens of a word are added up, and those from its tokens averaged (Clark et al., 2019,
    section 4.1).

    Args:
        weights: float (..., token, token).
        words: int (token,), the word of each token, -1 for none; as `words_at` returns it.
        count: Number of words.
        allowed: bool (word, word), whether a word is a candidate for another.

    Returns:
        int (..., word); -1 where no candidate gets any weight.
    """
    belongs = words[:, None] == np.arange(count)
    average = belongs / np.maximum(belongs.sum(axis=0), 1)
    between = np.where(allowed, average.T @ np.asarray(weights, np.float64) @ belongs, 0.0)
    return np.where(between.any(axis=-1), between.argmax(axis=-1), -1)


def best_offset(distances: ArrayLike) -> tuple[int, float]:
    """Return the distance from word to word that is the most frequent, and its share.

    Args:
        distances: int (instance,), place of the target minus place of the word.

    >>> best_offset([-1, -1, -2])
    (-1, 0.6666666666666666)
    """
    values, counts = np.unique(np.asarray(distances), return_counts=True)
    most = counts.argmax()
    return int(values[most]), float(counts[most] / counts.sum())


def nearest_word(place: int, candidates: np.ndarray) -> int:
    """Return the candidate nearest to a word, of two equally near ones the earlier; -1 without candidates.

    Args:
        place: Of the word.
        candidates: int (candidate,), their places.

    >>> nearest_word(4, np.array([1, 3, 5]))
    3
    """
    return int(candidates[np.abs(candidates - place).argmin()]) if len(candidates) else -1
