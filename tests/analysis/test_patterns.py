"""Shares of patterns, against sums of cells written down one by one."""

import numpy as np
import pytest
from made_heads import attention_of
from made_heads import measured as measured_in
from numpy.testing import assert_allclose

from transformer_viz.questions.roles.patterns import is_punctuation

TOKENS = ["A", "b", ",", "a", "c"]
SIZE = len(TOKENS)
CELLS = {
    "itself": [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
    "previous": [(1, 0), (2, 1), (3, 2), (4, 3)],
    "next": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "same": [(0, 3), (3, 0)],
    "after_same": [(3, 1)],
    "first": [(row, 0) for row in range(SIZE)],
    "punctuation": [(row, 2) for row in range(SIZE)],
    "nearby": [],
}
"""Pattern -> its cells (query, key) in the self-attention of `TOKENS`."""


@pytest.fixture
def weights():
    found = np.random.default_rng(3).random((2, SIZE, SIZE)) ** 3
    return found / found.sum(axis=-1, keepdims=True)


def measured(weights, mask, tokens=TOKENS):
    found = measured_in("encoder", attention_of([weights], tokens, mask=mask[None]))
    return {
        name: (found.share[0, :, i], found.even[0, :, i], found.support[0, i])
        for i, name in enumerate(found.names)
    }


def test_a_share_is_the_mean_weight_over_the_rows_that_could_show_the_pattern(weights):
    found = measured(weights, np.ones((1, SIZE, SIZE), bool))
    for name, cells in CELLS.items():
        share, even, support = found[name]
        rows = {row for row, _ in cells}
        if len(rows) < 2:
            assert np.isnan(share).all()
            assert support == 0
            continue
        assert_allclose(share, [sum(head[cell] for cell in cells) / len(rows) for head in weights])
        assert_allclose(even, len(cells) / SIZE / len(rows))
        assert support == len(rows) / SIZE


def test_tokens_are_nearby_only_in_rows_that_may_attend_to_others():
    weights = np.random.default_rng(4).dirichlet(np.ones(8), (2, 8))
    share, even, support = measured(weights, np.ones((1, 8, 8), bool), "abcdefgh")["nearby"]
    rows = [0, 1, 2, 5, 6, 7]  # from the two in the middle, no token is more than four places away
    keys = [range(5), range(6), range(7), range(1, 8), range(2, 8), range(3, 8)]
    sums = [weights[:, row, each].sum(axis=-1) for row, each in zip(rows, keys, strict=True)]
    assert_allclose(share, np.mean(sums, axis=0))
    assert_allclose(even, np.mean([len(each) / 8 for each in keys]))
    assert support == 6 / 8
    causal = measured(weights, np.tri(8, dtype=bool)[None], "abcdefgh")["nearby"]
    assert_allclose(
        causal[0], np.mean([weights[:, row, row - 4 : row + 1].sum(-1) for row in (5, 6, 7)], axis=0)
    )
    assert causal[2] == 3 / 7  # of the rows with a choice


def test_under_a_causal_mask_even_attention_is_even_over_earlier_tokens(weights):
    mask = np.tri(SIZE, dtype=bool)[None]
    weights = weights * mask / (weights * mask).sum(axis=-1, keepdims=True)
    found = measured(weights, mask)
    assert_allclose(found["previous"][1], np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert_allclose(found["first"][0], weights[:, 1:, 0].mean(axis=-1))
    assert_allclose(found["punctuation"][0], weights[:, 2:, 2].mean(axis=-1))
    assert found["punctuation"][2] == 3 / 4  # of the rows with a choice
    assert np.isnan(found["next"][0]).all()
    assert np.isnan(found["same"][0]).all()  # in one row only


def test_the_most_read_token_the_sharpness_of_rows_and_their_entropy(weights):
    found = measured(weights, np.ones((1, SIZE, SIZE), bool))
    received = weights.mean(axis=1)
    assert_allclose(found["token"][0], received.max(axis=-1))
    assert_allclose(found["token"][1], 1 / SIZE)
    assert_allclose(found["focused"][0], weights.max(axis=-1).mean(axis=-1))
    entropies = [[-sum(w * np.log(w) for w in row) / np.log(SIZE) for row in head] for head in weights]
    assert_allclose(found["even"][0], np.mean(entropies, axis=-1))
    assert_allclose(found["even"][1], 1)


def test_entropy_is_relative_to_what_each_row_may_read():
    mask = np.tri(SIZE, dtype=bool)[None]
    even = mask / mask.sum(axis=-1, keepdims=True)
    assert_allclose(measured(even, mask)["even"][0], 1)


@pytest.mark.parametrize("token", [",", "▁.", "##!", "。", "..."])
def test_what_has_neither_letters_nor_digits_is_punctuation(token):
    assert is_punctuation(token)


@pytest.mark.parametrize("token", ["'s", "[START]", "▁", "3", "好", ""])
def test_words_numbers_and_special_tokens_are_no_punctuation(token):
    assert not is_punctuation(token)
