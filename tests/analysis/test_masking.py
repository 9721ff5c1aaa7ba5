import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.trace.masking import blocked_rows, future_share, padding_share

MASK = np.array([[True, True, False], [True, True, True], [False, False, False]])


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
