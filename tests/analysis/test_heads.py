import numpy as np
from numpy.testing import assert_allclose

from transformer_viz.questions.roles.scores import (
    distance,
    entropy,
    induction_score,
    previous_token_score,
    same_token_score,
)


def test_entropy_is_zero_for_one_key_and_the_logarithm_of_keys_for_all_alike():
    one, alike = np.eye(5), np.full((5, 5), 0.2)
    assert_allclose(entropy(np.stack([one, alike])), [0, np.log(5)], atol=1e-12)


def test_entropy_by_hand_leaves_masked_rows_out():
    weights = np.array([[0.25, 0.75, 0], [0, 0, 0]])
    assert_allclose(entropy(weights), -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))
    assert np.isnan(entropy(np.zeros((2, 3))))


def test_distance_is_counted_in_tokens_whichever_way():
    before, after, itself = np.eye(5, k=-2), np.eye(5, k=1), np.eye(5)
    assert_allclose(distance(np.stack([before, after, itself])), [2, 1, 0])


def test_distance_by_hand_leaves_masked_rows_out():
    """The first row reads itself and the next token, the second nothing, the third the first."""
    weights = np.array([[0.5, 0.5, 0], [0, 0, 0], [1, 0, 0]])
    assert_allclose(distance(weights), (0.5 * 1 + 1 * 2) / 2)
    assert np.isnan(distance(np.zeros((2, 3, 3)))).all()


def test_a_head_that_reads_the_token_before_scores_one():
    before = np.eye(7, k=-1)
    assert_allclose(previous_token_score(np.stack([before, np.eye(7)])), [1, 0])
    assert_allclose(previous_token_score(np.full((4, 4), 0.25)), 0.25)


def test_tokens_that_may_not_attend_to_the_previous_one_do_not_count():
    weights = np.eye(5, k=-1)
    weights[3] = np.eye(5)[3]
    mask = np.ones((1, 5, 5), bool)
    mask[0, 3, 2] = False
    assert_allclose(previous_token_score(np.stack([weights, np.eye(5)]), mask), [1, 0])
    assert np.isnan(previous_token_score(weights, np.zeros((5, 5), bool)))


def test_a_perfect_induction_head_scores_one():
    """a b c a b c: at the second a it reads the first b, and so on."""
    weights = np.zeros((6, 6))
    weights[[3, 4, 5], [1, 2, 3]] = 1
    assert_allclose(induction_score(weights, [7, 8, 9, 7, 8, 9]), 1)
    assert_allclose(induction_score(np.eye(6), [7, 8, 9, 7, 8, 9]), 0)


def test_induction_counts_every_former_place_and_only_tokens_that_came_before():
    """a a a: the second reads what followed the first, the third what followed the first or second."""
    weights = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    assert_allclose(induction_score(weights, [5, 5, 5]), (1 / 2 + 2 / 3) / 2)


def test_a_perfect_same_token_head_scores_one_and_one_that_reads_itself_none():
    weights = np.zeros((6, 6))
    weights[[3, 4, 5], [0, 1, 2]] = 1
    assert_allclose(same_token_score(weights, [7, 8, 9, 7, 8, 9]), 1)
    assert_allclose(same_token_score(np.eye(6), [7, 8, 9, 7, 8, 9]), 0)
    assert np.isnan(same_token_score(np.ones((2, 3, 3)), [1, 2, 3])).all()


def test_without_a_token_that_comes_twice_there_is_no_score():
    assert np.isnan(induction_score(np.ones((2, 3, 3)), [1, 2, 3])).all()
