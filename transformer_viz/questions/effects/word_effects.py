"""What words do to the labels of a classifier over many texts."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

FEWEST_TEXTS = 5
"""Fewest texts in which a word is said to speak for a label."""

Z = 1.96
"""Standard deviations between the mean and the end of the 95% interval of a normal distribution."""

COLUMNS = ("label", "word", "effect", "low", "texts")


class WordEffect(NamedTuple):
    """What leaving out a word takes from the log-odds of each label in one text.

    Attributes:
        word: In lower case.
        effect: float (label,), averaged over its places in the text; positive: it speaks for the label.
    """

    word: str
    effect: np.ndarray


TextEffects = list[WordEffect]
"""The words of one text, each once."""


def words_for_labels(found: Sequence[TextEffects], labels: Sequence[str]) -> pd.DataFrame:
    """Return which words speak for each label over many texts.

    Args:
        found: The effects in each text.
        labels: Names of the labels.

    Returns:
        Columns label; word; effect, its mean effect over the texts that have it; low, the lower end of the
        95% interval of that mean, which is above 0; and texts, how many these are, at least `FEWEST_TEXTS`.
        For each label the words with the highest low first.
    """
    by_word: dict[str, list[np.ndarray]] = {}
    for text in found:
        for word, effect in text:
            by_word.setdefault(word, []).append(effect)
    rows = []
    for word, effects in by_word.items():
        count = len(effects)
        if count < FEWEST_TEXTS:
            continue
        mean = np.mean(effects, axis=0)
        low = mean - _quantile(count - 1) * np.std(effects, axis=0, ddof=1) / math.sqrt(count)
        rows += [
            (label, word, float(mean[number]), float(low[number]), count)
            for number, label in enumerate(labels)
            if low[number] > 0
        ]
    rows.sort(key=lambda row: (labels.index(row[0]), -row[3]))
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def _quantile(freedom: int) -> float:
    """Return about the 97.5% quantile of Student's t (Abramowitz and Stegun, 1964, formula 26.7.5)."""
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
