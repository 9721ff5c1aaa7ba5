import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.analysis import (
    added_mask_weights,
    blocked_rows,
    future_share,
    masked_scores,
    masked_weights,
    multiplied_mask_weights,
    padding_share,
    softmax,
)

LN3 = np.log(3)
SCORES = np.array([[0.0, LN3, 5.0], [1.0, 1.0, 1.0], [2.0, -1.0, 0.5]])
MASK = np.array([[True, True, False], [True, True, True], [False, False, False]])


def test_masked_scores_are_gaps():
    scores = masked_scores(SCORES, MASK)
    assert_array_equal(np.isnan(scores), ~MASK)
    assert_allclose(scores[MASK], SCORES[MASK], rtol=1e-6)


def test_weights_by_hand():
    expected = [[0.25, 0.75, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 0]]
    assert_allclose(masked_weights(SCORES, MASK), expected, atol=1e-6)


def test_weights_are_those_of_the_layers():
    from transformer_viz.network.attention import attend

    random = np.random.default_rng(11)
    query, key = random.normal(size=(2, 1, 3, 5, 7)).astype(np.float32)
    mask = random.random((3, 5, 5)) < 0.6
    mask[1, 2] = False
    scores, weights, _ = attend(query, key, key, mask[None])
    assert_allclose(masked_weights(np.asarray(scores)[0], mask), np.asarray(weights)[0], atol=1e-6)


def test_a_large_negative_number_is_the_same_but_where_a_row_may_attend_to_nothing():
    added = added_mask_weights(SCORES, MASK)
    assert_allclose(added[:2], masked_weights(SCORES, MASK)[:2], atol=1e-6)
    assert_array_equal(added[2], np.full(3, 1 / 3, np.float32))
    assert_allclose(added.sum(axis=-1), 1, atol=1e-6)


def test_multiplied_weights_lose_what_the_masked_keys_had():
    scores = np.log([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    mask = np.array([[True, True, False], [False, False, False]])
    multiplied = multiplied_mask_weights(scores, mask)
    assert_allclose(multiplied, [[0.25, 0.25, 0], [0, 0, 0]], atol=1e-6)
    assert_allclose(multiplied.sum(axis=-1), [0.5, 0], atol=1e-6)


def test_the_share_of_padding_is_that_of_the_real_rows():
    weights = [[0.5, 0.3, 0.2], [0.1, 0.5, 0.4], [0, 0, 1]]
    padding = np.array([False, False, True])
    assert padding_share(weights, padding, padding) == pytest.approx(0.3)
    assert padding_share(weights, padding, np.zeros(3, bool)) == 0


def test_the_share_of_the_future_is_above_the_diagonal():
    assert future_share([[0.5, 0.5, 0], [0, 0.8, 0.2], [0.2, 0.3, 0.5]]) == pytest.approx(0.7 / 3)
    assert future_share(np.tri(3) / 3) == 0


def test_where_nothing_attends_no_share_goes_anywhere():
    nothing = np.zeros((2, 2))
    assert future_share(nothing) == 0
    assert padding_share(nothing, [False, False], [False, True]) == 0


def test_blocked_rows_are_those_that_may_attend_to_nothing():
    assert_array_equal(blocked_rows(MASK, (3, 3)), [2])
    assert_array_equal(blocked_rows(np.zeros((1, 1), bool), (2, 3)), [0, 1])
    assert blocked_rows(np.ones((1, 3), bool), (3, 3)).size == 0


def test_a_number_added_to_a_whole_row_leaves_its_softmax_but_for_rounding():
    """Near 10^9, float32 has only every 64th number: scores up to 32 become equal, larger ones do not."""
    small, large = np.array([[1.0, 9.0, -20.0]]), np.array([[0.0, 400.0, 100.0]])
    assert_allclose(added_mask_weights(small, np.zeros((1, 3), bool)), np.full((1, 3), 1 / 3), rtol=1e-6)
    assert_allclose(added_mask_weights(large, np.zeros((1, 3), bool)), softmax(large), atol=1e-6)
