import numpy as np
from numpy.testing import assert_array_equal

from transformer_viz.network.masks import causal_mask, padding_mask, window_mask


def test_padding_is_read_by_nobody():
    mask = np.asarray(padding_mask(np.array([[5, 2, 0], [7, 0, 0]])))
    assert mask.shape == (2, 1, 1, 3)
    assert_array_equal(mask[:, 0, 0], [[True, True, False], [True, False, False]])


def test_causal_rows_read_themselves_and_what_came_before():
    assert_array_equal(np.asarray(causal_mask(3))[0, 0], np.tril(np.ones((3, 3), bool)))


def test_a_window_reaches_the_same_distance_to_both_sides():
    mask = np.asarray(window_mask(5, 1))[0, 0]
    assert_array_equal(mask.sum(axis=1), [2, 3, 3, 3, 2])
    assert_array_equal(mask, mask.T)


def test_masks_merge_by_and():
    token_ids = np.array([[5, 2, 0]])
    merged = np.asarray(padding_mask(token_ids)) & np.asarray(causal_mask(3))
    assert_array_equal(merged[0, 0], [[True, False, False], [True, True, False], [True, True, False]])
