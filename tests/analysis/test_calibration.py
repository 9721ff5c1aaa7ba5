import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve

from transformer_viz.questions.evaluation.calibration import (
    best_temperature,
    calibration,
    calibration_error,
    reliability,
)
from transformer_viz.trace.softmax import sigmoid, softmax


def pairs(*confidences):
    """Return probabilities of two labels, the first with these."""
    return np.stack([confidences, 1 - np.array(confidences)], axis=-1)


def loss(logits, labels, temperature):
    scaled = np.asarray(logits, "f8") / temperature
    shares = np.exp(scaled) / np.exp(scaled).sum(axis=-1, keepdims=True)
    return -np.log(shares[np.arange(len(labels)), labels]).mean()


def test_the_calibration_error_by_hand():
    """Bins of a third: .6 and .6 share one with one right, .9 is right, .7 is wrong."""
    probs, labels = pairs(0.6, 0.6, 0.9, 0.7), [0, 1, 0, 1]
    assert_allclose(calibration_error(probs, labels, bins=3), (abs(1 - 1.2) + abs(1 - 1.6)) / 4)
    assert_allclose(calibration_error(probs, labels, bins=1000), (0.2 + 0.1 + 0.7) / 4)


def test_a_bin_holds_its_upper_end_and_not_its_lower():
    """At bins of .25, .75 lies beside .6 and not beside .8; their gaps cancel."""
    probs = pairs(0.75, 0.6)
    assert_allclose(calibration_error(probs, [1, 0], bins=4), abs(-0.75 + 0.4) / 2)
    assert calibration_error(pairs(1.0), [0]) == 0
    assert calibration_error(np.zeros((0, 2)), []) == 0


def test_what_is_right_as_often_as_it_says_has_no_error():
    probs, labels = pairs(*[0.8] * 10), [0] * 8 + [1] * 2
    assert_allclose(calibration_error(probs, labels), 0, atol=1e-12)


def test_the_best_temperature_of_two_classes_has_a_closed_form():
    """Logits (z, 0) right in 3 of 4 rows: sigmoid(z / T) = 3/4, so T = z / ln 3."""
    logits, labels = np.tile([5.0, 0.0], (8, 1)), [0, 0, 0, 1] * 2
    assert_allclose(best_temperature(logits, labels), 5 / np.log(3), rtol=1e-9)
    assert_allclose(softmax(logits, best_temperature(logits, labels))[:, 0], 0.75, rtol=1e-6)


@pytest.mark.parametrize(("scale", "wrong", "expected"), [(5.0, 4, 100.0), (0.001, 2, 0.01)])
def test_the_best_temperature_is_one_that_a_config_may_have(scale, wrong, expected):
    """Right in half of the rows, no T is too high; with logits of 0.001, z / ln 3 is 0.0009."""
    logits, labels = np.tile([scale, 0.0], (8, 1)), [0] * (8 - wrong) + [1] * wrong
    assert_allclose(best_temperature(logits, labels), expected, rtol=1e-9)


def test_the_best_temperature_is_the_same_for_logits_that_are_all_higher():
    logits, labels = np.tile([5.0, 0.0], (8, 1)), [0, 0, 0, 1] * 2
    assert_allclose(best_temperature(logits + 1e5, labels), best_temperature(logits, labels), rtol=1e-6)


@given(st.integers(0, 10**6))
def test_no_other_temperature_has_less_loss(seed):
    random = np.random.default_rng(seed)
    logits, labels = random.normal(scale=3, size=(40, 3)), random.integers(3, size=40)
    labels[:20] = logits[:20].argmax(axis=-1)
    best = best_temperature(logits, labels)
    assert best is not None
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert loss(logits, labels, best) <= loss(logits, labels, min(100, max(0.01, best * factor))) + 1e-12


def test_without_an_error_no_temperature_is_the_best():
    logits = np.array([[2.0, 1.0], [0.0, 3.0]])
    assert best_temperature(logits, [0, 1]) is None
    assert calibration(logits, [0, 1]) == (pytest.approx((sigmoid(-1) + sigmoid(-3)) / 2), None, None)


def test_calibration_is_at_the_temperature_in_use_and_at_the_best():
    logits, labels = np.tile([5.0, 0.0], (8, 1)), [0, 0, 0, 1] * 2
    found = calibration(logits, labels, 2.0)
    assert_allclose(found.error, sigmoid(2.5) - 0.75, rtol=1e-6)
    assert_allclose(found.best_error, 0, atol=1e-6)


def test_a_temperature_of_1_gives_the_same_bits():
    scores = np.random.default_rng(0).normal(scale=9, size=(7, 5)).astype(np.float32)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    assert (softmax(scores) == powers / powers.sum(axis=-1, keepdims=True)).all()
    assert softmax(scores, 2.0).dtype == np.float32
    assert_allclose(softmax(scores, 2.0), softmax(scores / 2), rtol=1e-6)


def test_sigmoid_neither_overflows_nor_loses_what_is_small():
    assert_allclose(sigmoid([-1000, -40, 0, 1000]), [0, np.exp(-40), 0.5, 1], rtol=1e-12)


def test_a_reliability_diagram_is_that_of_scikit_learn():
    random = np.random.default_rng(4)
    sure, labels = random.uniform(0.5, 1, 3_000), np.zeros(3_000, int)
    labels[random.random(3_000) > sure**2] = 1  # too sure
    probs = np.stack([sure, 1 - sure], axis=1)
    found = reliability(probs, labels, 10)
    accuracy, confidence = calibration_curve(labels == 0, sure, n_bins=10)
    assert_allclose(found.confidence, confidence)
    assert_allclose(found.accuracy, accuracy)
    assert found.rows.sum() == 3_000
    assert (found.accuracy < found.confidence).all()
