"""Intervals of shares, and confusion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest
from sklearn.metrics import precision_recall_fscore_support

from transformer_viz.questions.evaluation.scores import confusion, label_scores, share_interval


@pytest.mark.parametrize(("right", "rows"), [(0, 10), (8, 10), (10, 10), (697, 776)])
def test_an_interval_is_that_of_wilson(right, rows):
    expected = binomtest(right, rows).proportion_ci(0.95, "wilson")
    found = share_interval(right, rows)
    assert found.share == right / rows
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=1e-7)


def test_each_row_is_counted_under_its_label_and_the_predicted_one():
    true, predicted = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 2, 2])
    assert_array_equal(confusion(true, predicted, 4), [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 2, 0], [0] * 4])


def test_scores_of_each_label_are_those_of_scikit_learn():
    random = np.random.default_rng(1)
    true, predicted = random.integers(0, 4, 200), random.integers(0, 3, 200)  # label 3 is never predicted
    found = label_scores(confusion(true, predicted, 4))
    expected = precision_recall_fscore_support(true, predicted, labels=range(4), zero_division=0)
    for name, numbers in zip(("precision", "recall", "f1", "rows"), expected, strict=True):
        assert_allclose(found[name], numbers)
