import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.trace.reshape import (
    merge_words,
    renormalise,
    rollout,
    sentence_of_token,
    word_of_token,
)


def softmax(*shape, seed=0):
    weights = np.exp(np.random.default_rng(seed).normal(size=shape))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("text", "offsets", "words"),
    [
        ("unhappy dogs", [(0, 2), (2, 7), (8, 12)], [0, 0, 1]),
        ("good, bad", [(0, 4), (4, 5), (6, 9)], [0, 1, 2]),
        ("房间很好", [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 2, 3]),
        ("2021", [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 0, 0, 0]),
        ("می\u200cخواهم", [(0, 2), (2, 3), (3, 8)], [0, 0, 0]),
        ("हिन्दी,", [(0, 1), (1, 2), (2, 4), (4, 6), (6, 7)], [0, 0, 0, 0, 1]),
        ("ab", [(0, 0), (0, 1), (1, 2)], [0, 1, 1]),  # [START] stands at (0, 0)
        ("", [], []),
    ],
)
def test_pieces_that_touch_are_one_word(text, offsets, words):
    assert word_of_token(text, offsets).tolist() == words


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 6)], [0, 0, 1, 2, 3]),
        ([(0, 1), (1, 3), (3, 4), (4, 5), (5, 6)], [0, 0, 1, 2, 2]),  # a token over the end of a word
        ([(0, 1), (2, 3), (3, 4), (4, 6)], [0, 1, 2, 3]),  # without what stood between
    ],
)
def test_pieces_within_a_given_word_are_one_word(offsets, words):
    assert word_of_token("房间很好OK", offsets, [(0, 2), (2, 3), (3, 4)]).tolist() == words


def test_tokens_without_width_are_words_of_their_own():
    offsets = [(0, 0), (0, 1), (1, 2), (2, 2), (2, 2)]
    assert word_of_token("好的", offsets, [(0, 2)]).tolist() == [0, 1, 1, 2, 3]
    assert word_of_token("ab", offsets).tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("No. Yes", [0, 0, 1]),
        ("At 9.30 he left! He ran", [0, 0, 0, 0, 0, 0, 0, 1, 1]),
        ("很好。不错！谢谢", [0, 0, 0, 1, 1, 1, 2, 2]),
        ('He said "Go." She went', [0, 0, 0, 0, 0, 0, 1, 1]),
        ("one\ntwo", [0, 1]),
        ("The end.", [0, 0, 0]),
        ("", []),
    ],
)
def test_a_sentence_ends_at_its_mark_and_not_within_a_number(text, sentences):
    offsets = [found.span() for found in re.finditer(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+|[^\w\s]", text)]
    assert sentence_of_token(text, offsets).tolist() == sentences


def test_special_tokens_are_of_the_sentence_beside_them():
    offsets = [(0, 0), (0, 3), (3, 4), (5, 8), (8, 8)]
    assert sentence_of_token("One. Two", offsets).tolist() == [0, 0, 0, 1, 1]
    assert sentence_of_token("One. Two.", [*offsets[:4], (8, 9), (9, 9)]).tolist() == [0, 0, 0, 1, 1, 1]


def test_merged_pieces_add_up_where_read_and_are_averaged_where_they_read():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.5, 0.0]])
    words = np.array([0, 0, 1])
    assert_allclose(merge_words(weights, words, words), [[0.45, 0.55], [1.0, 0.0]], atol=1e-6)


def test_rows_of_merged_words_still_sum_to_one():
    weights = softmax(2, 3, 7, 5)
    merged = merge_words(weights, np.array([0, 0, 1, 2, 2, 2, 3]), np.array([0, 1, 1, 2, 2]))
    assert merged.shape == (2, 3, 4, 3)
    assert_allclose(merged.sum(axis=-1), 1, atol=1e-6)


def test_words_are_merged_as_a_loop_over_them_does():
    weights, rows, columns = softmax(2, 3, 7, 5), np.array([0, 0, 1, 2, 2, 2, 3]), np.array([0, 1, 1, 2, 2])
    expected = np.zeros((2, 3, 4, 3))
    for query in range(4):
        for key in range(3):
            of_key = weights[..., columns == key].sum(axis=-1)
            expected[..., query, key] = of_key[..., rows == query].mean(axis=-1)
    assert_allclose(merge_words(weights, rows, columns), expected, atol=1e-6)


def test_no_token_is_no_word():
    none = word_of_token("", [])
    assert merge_words(np.zeros((2, 0, 0)), none, none).shape == (2, 0, 0)


def test_what_is_left_is_shared_out_anew():
    weights = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.2, 0.2, 0.6]])
    keep = np.array([False, True, True])
    left = renormalise(weights, keep[:, None] & keep)
    assert_allclose(left, [[0, 0, 0], [0, 0, 0], [0, 0.25, 0.75]], atol=1e-6)


def test_rollout_by_hand():
    first = np.array([[[1.0, 0.0], [0.5, 0.5]]])
    second = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    reached = rollout(np.stack([first, second]))
    assert_allclose(reached[0], [[1, 0], [0.25, 0.75]], atol=1e-6)
    assert_allclose(reached[1], [[1, 0], [0.625, 0.375]], atol=1e-6)


def test_rollout_is_a_share_of_the_inputs():
    reached = rollout(softmax(4, 3, 11, 11))
    assert reached.shape == (4, 11, 11)
    assert_allclose(reached.sum(axis=-1), 1, atol=1e-5)
    assert (reached >= 0).all()
