"""A bag of words: what labels can be told from words and pairs of neighbours alone, without a network."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

FOLDS = 5
"""Parts of the texts, each of which is predicted from the others."""

SMOOTHING = 1.0
"""Added to each count (Laplace)."""

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")


def bag_of_words_accuracy(texts: Sequence[str], labels: np.ndarray, seed: int = 0) -> float | None:
    """Return the cross-validated accuracy of multinomial naive Bayes over words and pairs of neighbours.

    A baseline for classifiers (Wang and Manning, 2012, "Baselines and bigrams"). A Chinese character is a
    word.

    Args:
        texts: The texts.
        labels: int (text,), numbers of their labels.
        seed: Of the division into `FOLDS` parts.

    Returns:
        Share of the texts that are right when they are predicted from the other parts; None: too few texts.
    """
    if len(texts) < 2 * FOLDS:
        return None
    parts = np.random.default_rng(seed).permutation(len(texts)) % FOLDS
    grams = [*map(_grams, texts)]
    right = 0
    for part in range(FOLDS):
        known = _learned([(grams[n], int(labels[n])) for n in np.flatnonzero(parts != part)])
        right += sum(_likeliest(known, grams[n]) == labels[n] for n in np.flatnonzero(parts == part))
    return right / len(texts)


def _grams(text):
    """Return the words and the pairs of neighbours of a text, each once."""
    words = _WORD.findall(text.lower())
    return {*words, *pairwise(words)}


def _learned(rows):
    """Return label -> (log prior, gram -> count, logarithm of the smoothed total)."""
    counts: dict[int, Counter] = {}
    numbers = Counter(label for _, label in rows)
    for grams, label in rows:
        counts.setdefault(label, Counter()).update(grams)
    size = len({gram for found in counts.values() for gram in found}) + 1
    return {
        label: (math.log(numbers[label] / len(rows)), found, math.log(found.total() + SMOOTHING * size))
        for label, found in counts.items()
    }


def _likeliest(known, grams):
    def log_probability(label):
        prior, found, total = known[label]
        return prior + sum(math.log(found[gram] + SMOOTHING) - total for gram in grams)

    return max(known, key=log_probability)
