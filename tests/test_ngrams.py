from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.data.ngrams import FALLBACK, KneserNey
from transformer_viz.network.config import END_ID, START_ID

VOCABULARY = 300
RANDOM = np.random.default_rng(4)
TEXTS = [
    np.minimum(3 + RANDOM.zipf(1.3, RANDOM.integers(1, 20)), VOCABULARY - 1).astype(np.int32)
    for _ in range(90)
]
UNSEEN = [RANDOM.integers(4, VOCABULARY, 9).astype(np.int32) for _ in range(8)]


def reference(texts, order):
    """Return P(w | h) by the equations, with dictionaries; Chen and Goodman (1999), equations 16 to 18."""
    padded = [(*[START_ID] * (order - 1), *ids.tolist(), END_ID) for ids in texts]
    counts = {
        order: Counter(ids[i - order + 1 : i + 1] for ids in padded for i in range(order - 1, len(ids)))
    }
    for length in range(order - 1, 0, -1):
        counts[length] = Counter(gram[1:] for gram in counts[length + 1])

    def discount(length, count):
        kinds = Counter(counts[length].values())
        share = kinds[1] / (kinds[1] + 2 * kinds[2])
        found = [n - (n + 1) * share * kinds[n + 1] / kinds[n] for n in (1, 2, 3)]
        assert min(found) > 0 or length < order  # so that the estimate is compared, not the fallback alone
        return found[min(count, 3) - 1] if min(found) > 0 else FALLBACK

    def probability(gram):
        if not gram:
            return 1 / VOCABULARY
        followers = {g: c for g, c in counts[len(gram)].items() if g[:-1] == gram[:-1]}
        shorter = probability(gram[1:])
        if not followers:
            return shorter
        total, count = sum(followers.values()), followers.get(gram, 0)
        rest = sum(discount(len(gram), c) for c in followers.values()) / total
        own = max(count - discount(len(gram), count), 0) / total if count else 0
        return own + rest * shorter

    return probability


@pytest.mark.parametrize("order", [1, 2, 3])
def test_equals_the_equations_written_out(order):
    model, probability = KneserNey(TEXTS, VOCABULARY, order), reference(TEXTS, order)
    expected = []
    for ids in UNSEEN:
        padded = (*[START_ID] * (order - 1), *ids.tolist(), END_ID)
        expected += [probability(padded[i - order + 1 : i + 1]) for i in range(order - 1, len(padded))]
    assert_allclose(model.nats(UNSEEN), -np.log(expected), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]])
def test_the_probabilities_of_all_tokens_sum_to_one_after_any_beginning(texts, order):
    model = KneserNey(texts, VOCABULARY, order)
    for beginning in ([], [4], [5, 10], [10, 9, 8, 7]):
        following = [
            np.array([*beginning, token], np.int32) for token in range(VOCABULARY) if token != END_ID
        ]
        last = [np.exp(-model.nats([ids])[len(beginning)]) for ids in following]
        end = np.exp(-model.nats([np.array(beginning, np.int32)])[-1])
        assert_allclose(sum(last) + end, 1, rtol=1e-9)


def test_what_repeats_is_predicted_better_by_longer_grams():
    texts = [np.tile(np.array([4, 5, 4, 6], np.int32), 10)] * 9
    means = [KneserNey(texts, VOCABULARY, order).nats(texts).mean() for order in (1, 2, 3)]
    assert means[0] > means[1] > means[2]
    assert means[2] < 0.2
