import numpy as np
from numpy.testing import assert_array_equal

from transformer_viz.data.batches import by_length, pad, shuffled_by_length

RANDOM = np.random.default_rng(5)
ROWS = [RANDOM.integers(2, 50, size) for size in RANDOM.integers(0, 60, 997)]


def test_pad_fills_up_at_the_end():
    assert_array_equal(pad([np.array([5, 6, 7]), np.array([8])]), [[5, 6, 7], [8, 0, 0]])


def test_a_batch_of_empty_texts_still_has_one_position():
    assert_array_equal(pad([np.array([], int)]), [[0]])


def test_every_row_comes_exactly_once():
    for batches in (by_length(ROWS, 13), shuffled_by_length(ROWS, 13, np.random.default_rng(0))):
        assert_array_equal(np.sort(np.concatenate(batches)), np.arange(len(ROWS)))
        assert len(batches) == 77


def test_batches_are_of_similar_length_but_in_random_order():
    batches = shuffled_by_length(ROWS, 13, np.random.default_rng(0))
    lengths = [[len(ROWS[row]) for row in batch] for batch in batches]
    assert np.mean([max(batch) - min(batch) for batch in lengths]) < 4
    longest = [max(batch) for batch in lengths]
    assert longest != sorted(longest, reverse=True)


def test_the_same_seed_gives_the_same_order_and_the_next_epoch_another():
    random, again = np.random.default_rng(1), np.random.default_rng(1)
    first, second = shuffled_by_length(ROWS, 13, random), shuffled_by_length(ROWS, 13, random)
    assert_array_equal(np.concatenate(first), np.concatenate(shuffled_by_length(ROWS, 13, again)))
    assert (np.concatenate(first) != np.concatenate(second)).any()
