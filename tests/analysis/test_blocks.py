import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.analysis import block_means, strongest_in_blocks


def test_a_block_is_its_strongest_value_with_its_sign():
    matrix = np.array([[1, -3, 0], [2, 0, 0], [0, 4, 5]])
    blocks, size = strongest_in_blocks(matrix, 2)
    assert size == 2
    assert_array_equal(blocks, [[-3, 0], [4, 5]])


def test_gaps_do_not_hide_a_value_and_a_block_of_gaps_is_one():
    matrix = np.full((4, 4), np.nan)
    matrix[0, 1], matrix[3, 3] = -0.5, 0
    assert_array_equal(strongest_in_blocks(matrix, 2)[0], [[-0.5, np.nan], [np.nan, 0]])


@pytest.mark.parametrize(("tokens", "most", "size"), [(5, 5, 1), (6, 5, 2), (1024, 128, 8), (1, 4, 1)])
def test_there_are_never_more_rows_than_asked_for(tokens, most, size):
    matrix = np.random.default_rng(1).normal(size=(tokens, tokens)).astype("float32")
    blocks, found = strongest_in_blocks(matrix, most)
    assert found == size
    assert len(blocks) == -(-tokens // size) <= most
    assert np.abs(blocks).max() == np.abs(matrix).max()


def test_block_means_leave_gaps_out():
    gap = np.nan
    values = np.array([[1, 3, 5], [gap, 4, gap], [gap, gap, 7]])
    assert_allclose(block_means(values, 2), [[8 / 3, 5], [gap, 7]])
    assert_allclose(block_means(values, 1), values)
