"""Words typical of a label: which they are, and which tokens of a text belong to them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from transformer_viz.questions.roles.result import MAX_WORD, MOST_LABELS, MOST_WORDS, Typical
from transformer_viz.questions.roles.rules import words_measures
from transformer_viz.text.special import UNK
from transformer_viz.trace.reshape import word_of_token

LEAST_TEXTS = 20
"""Fewest texts with a word for it to be typical of a label."""

LEAST_RATIO = 2
"""Least share among the words of a label's texts, divided by that among the words of all other texts."""

LEAST_STATISTIC = 25
"""Least likelihood ratio statistic, five standard errors: words come in clusters, and with four some would be
typical of labels given at random.
"""

FEWEST_WORDS = 10
"""Fewest typical words of a label: some of them are no class of words."""


def words_of(
    text: str, offsets: Sequence[tuple[int, int]], tokens: Sequence[str]
) -> tuple[list[str], np.ndarray]:
    """Return the words of a text in lower case, as `word_of_token` finds them, and the word of each token.

    Args:
        text: The text.
        offsets: (start, end) of each token in it, in characters.
        tokens: The tokens; what the vocabulary lacks and [START] are no words: "".

    >>> words, place = words_of("Unhappy film", [(0, 2), (2, 7), (8, 12)], ["un", "##happy", "film"])
    >>> words, place.tolist()
    (['unhappy', 'film'], [0, 0, 1])
    """
    place = word_of_token(text, offsets)
    words = [""] * (place.max(initial=-1) + 1)
    for word, (start, end), token in zip(place, offsets, tokens, strict=True):
        if token != UNK:
            words[word] += text[start:end].lower()
    return words, place


def most_typical(texts: Iterable[Sequence[str]], labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the words typical of each label: far more frequent in its texts than in all others.

    For a word that is k of the n words of a label's texts, and k' of the n' words of the others, the
    statistic is -2 log λ = 2 [L(k, n) + L(k', n') - L(k + k', n + n')], where L(k, n) is k log(k / n) +
    (n - k) log(1 - k / n) (Dunning, 1993, section 5). Words are counted, not texts with them: else a label
    with longer texts would get common words.

    Args:
        texts: The words of each text.
        labels: Label of each.

    Returns:
        Label -> at most `MOST_WORDS` words, the most significant first, equal ones by alphabet. Labels with
        fewer than `FEWEST_WORDS` are left out; empty for more than `MOST_LABELS` labels.
    """
    names = sorted(set(labels))
    if len(names) > MOST_LABELS:
        return {}
    counts, with_word = {name: Counter() for name in names}, Counter()
    for words, label in zip(texts, labels, strict=True):
        counts[label].update(words)
        with_word.update(set(words))
    known = sorted(
        word for word, number in with_word.items() if 1 <= len(word) <= MAX_WORD and number >= LEAST_TEXTS
    )
    count = np.array([[counts[name][word] for word in known] for name in names], float)
    total = np.array([[counts[name].total()] for name in names], float)
    others, rest = count.sum(axis=0) - count, total.sum() - total
    statistic = 2 * (_fit(count, total) + _fit(others, rest) - _fit(count + others, total + rest))
    statistic[count * rest < LEAST_RATIO * others * total] = 0
    found = {}
    for name, row in zip(names, statistic, strict=True):
        order = np.argsort(-row, kind="stable")[:MOST_WORDS]
        typical = tuple(known[number] for number in order if row[number] >= LEAST_STATISTIC)
        if len(typical) >= FEWEST_WORDS:
            found[name] = typical
    return found


def _fit(count, total):
    """Return the log-likelihood of so many of all words at their own share: L of `most_typical`."""
    share = count / np.maximum(total, 1)
    return total * sum(part * np.log(np.where(part > 0, part, 1)) for part in (share, 1 - share))


def typical_keys(
    text: str, offsets: Sequence[tuple[int, int]], tokens: Sequence[str], typical: Typical
) -> dict[str, np.ndarray]:
    """Return which tokens of a text belong to words typical of each label.

    Args:
        text: The text.
        offsets: (start, end) of each token in it, in characters.
        tokens: The tokens.
        typical: Label -> words.

    Returns:
        Name of the measure, as `words_measures` returns it, -> bool (token,).
    """
    if not typical:
        return {}
    words, place = words_of(text, offsets, tokens)
    known = (frozenset(each) for each in typical.values())
    return {
        name: np.array([word in found for word in words], bool)[place]
        for name, found in zip(words_measures(typical), known, strict=True)
    }
