"""Intervals of shares, and confusion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from transformer_viz.analysis import confusion, share_interval


@pytest.mark.parametrize(("right", "rows"), [(0, 10), (8, 10), (10, 10), (697, 776)])
def test_an_interval_is_that_of_wilson(right, rows):
    expected = binomtest(right, rows).proportion_ci(0.95, "wilson")
    found = share_interval(right, rows)
    assert found.share == right / rows
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=1e-7)


def test_each_row_is_counted_under_its_label_and_the_predicted_one():
    true, predicted = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 2, 2])
    assert_array_equal(confusion(true, predicted, 4), [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 2, 0], [0] * 4])
