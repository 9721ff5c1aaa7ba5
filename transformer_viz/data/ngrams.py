"""N-gram language models: the baseline of a trained one."""

from collections.abc import Sequence

import numpy as np

from transformer_viz.network.config import END_ID, START_ID

FALLBACK = 0.75
"""Discount where the counts are too small to estimate it."""


class KneserNey:
    """N-grams with interpolated Kneser-Ney smoothing and three discounts (Chen and Goodman, 1999, section 3).

    P(w | h) = max(c(hw) - D, 0) / c(h) + g(h) P(w | h'), where h' is h without its first token. c is the
    count of hw for the longest n-gram, else the number of different tokens that precede hw; D depends on
    whether c is 1, 2 or more and is estimated from the counts; g(h) is the discounted share. For an unseen h,
    P(w | h) is P(w | h'); for an empty h, P(w | h') is uniform.

    Args:
        token_ids: One int array for each text, without [START] and [END].
        vocab_size: Number of tokens; its power of `order` must be below 2^63.
        order: Tokens of the longest n-gram: 1 for single tokens.
    """

    def __init__(self, token_ids: Sequence[np.ndarray], vocab_size: int, order: int):
        self.vocab_size, self.order = vocab_size, order
        grams, counts = np.unique(self._grams(token_ids), return_counts=True)
        self._levels = [_Level(grams, counts, vocab_size)]
        for length in range(order - 1, 0, -1):
            grams, counts = np.unique(grams % vocab_size**length, return_counts=True)
            self._levels.insert(0, _Level(grams, counts, vocab_size))

    def nats(self, token_ids: Sequence[np.ndarray]) -> np.ndarray:
        """Return the negative log-probability of every token and of the end of each text.

        Args:
            token_ids: One int array for each text.

        Returns:
            float (token,), text after text, in nats.
        """
        grams = self._grams(token_ids)
        probability = np.full(len(grams), 1 / self.vocab_size)
        for length, level in enumerate(self._levels, start=1):
            probability = level.interpolated(grams % self.vocab_size**length, probability)
        return -np.log(probability)

    def _grams(self, token_ids):
        """Return the n-gram ending at each token as one number whose digits, in base `vocab_size`, are its
        tokens.
        """
        start, end = [START_ID] * (self.order - 1), [END_ID]
        flat = np.concatenate([part for ids in token_ids for part in (start, ids, end)]).astype(np.int64)
        lengths = np.array([len(ids) + 1 for ids in token_ids])
        skipped = np.repeat(np.arange(1, len(lengths) + 1) * (self.order - 1), lengths)
        places = np.arange(lengths.sum()) + skipped
        grams = flat[places]
        for back in range(1, self.order):
            grams += flat[places - back] * self.vocab_size**back
        return grams


class _Level:
    """N-grams of one length: sorted numbers, their counts and discounts."""

    def __init__(self, grams, counts, vocab_size):
        self._vocab_size, self._grams = vocab_size, grams
        discounts = _discounts(counts)[np.minimum(counts, 3) - 1]
        self._contexts, first = np.unique(grams // vocab_size, return_index=True)
        self._totals = np.add.reduceat(counts, first)
        self._shares = np.maximum(counts - discounts, 0)
        self._rests = np.add.reduceat(counts - self._shares, first)

    def interpolated(self, grams, shorter):
        """Return the probability of n-grams, given that of the same ones without their first token."""
        context, known = _found(self._contexts, grams // self._vocab_size)
        gram, counted = _found(self._grams, grams)
        share = np.where(counted, self._shares[gram], 0) + self._rests[context] * shorter
        return np.where(known, share / self._totals[context], shorter)


def _found(sorted_numbers, numbers):
    """Return the index of each number (any index where it is missing), and whether it is there."""
    places = np.minimum(np.searchsorted(sorted_numbers, numbers), len(sorted_numbers) - 1)
    return places, sorted_numbers[places] == numbers


def _discounts(counts):
    """Return the discounts of counts of 1, of 2, and of more."""
    times = [np.count_nonzero(counts == count) for count in (1, 2, 3, 4)]
    if not all(times):
        return np.full(3, FALLBACK)
    share = times[0] / (times[0] + 2 * times[1])
    found = np.array([n - (n + 1) * share * times[n] / times[n - 1] for n in (1, 2, 3)])
    return found if (found > 0).all() else np.full(3, FALLBACK)  # 0 would make unseen n-grams impossible
