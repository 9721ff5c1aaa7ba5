import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.evaluator import Totals
from transformer_viz.training.objectives import classification, next_token, running_text

CHANCES = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], np.float32)
LOGITS = np.log(CHANCES)
THREE = TransformerConfig(labels=("a", "b", "c"))


def mean(measured):
    total, count = measured
    return float(total) / float(count)


def test_the_loss_is_the_mean_over_real_tokens_by_hand():
    measured = next_token()(np.array([[2, 1, 0]], np.int32), LOGITS[None])
    assert_allclose(mean(measured["loss"]), -(math.log(0.7) + math.log(0.3)) / 2, rtol=1e-6)


def test_a_smoothed_target_is_shared_out_over_all_choices():
    even = np.log(CHANCES[0]).mean()
    for objective, targets, logits in (
        (next_token(0.1), [[2, 0, 0]], LOGITS[None]),
        (classification(THREE, 0.1), [2], LOGITS[:1]),
    ):
        measured = objective(np.array(targets, np.int32), logits)
        assert_allclose(mean(measured["loss"]), -(0.9 * math.log(0.7) + 0.1 * even), rtol=1e-6)


def test_figures_leave_padding_out():
    for targets, accuracy, exact in (([2, 1, 0], 0.5, 0), ([2, 0, 0], 1, 1)):
        measured = next_token()(np.array([targets], np.int32), LOGITS[None])
        assert_allclose([mean(measured["token_accuracy"]), mean(measured["exact_match"])], [accuracy, exact])


def test_a_sigmoid_is_a_softmax_of_two():
    config = TransformerConfig(output="sigmoid")
    logits, targets = np.array([[2.0], [-1.0], [0.5]], np.float32), np.array([1, 1, 0], np.int32)
    measured = classification(config)(targets, logits)
    chance = 1 / (1 + np.exp(-logits[:, 0]))
    assert_allclose(mean(measured["loss"]), -np.log([chance[0], chance[1], 1 - chance[2]]).mean(), rtol=1e-6)
    assert_allclose(mean(measured["accuracy"]), 1 / 3)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_equals_the_loss_of_keras(smoothing):
    import keras

    targets = np.array([2, 0, 2], np.int32)
    theirs = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=smoothing)(
        np.eye(3)[targets], LOGITS
    )
    assert_allclose(mean(classification(THREE, smoothing)(targets, LOGITS)["loss"]), theirs, rtol=1e-6)


def test_the_parts_of_a_batch_add_up_to_the_whole():
    random = np.random.default_rng(3)
    targets, logits = random.integers(0, 5, (7, 4)).astype(np.int32), random.normal(size=(7, 4, 5))
    whole = next_token(0.1)(targets, logits)
    parts = [next_token(0.1)(targets[i::3], logits[i::3]) for i in range(3)]
    for name, pair in whole.items():
        assert_allclose(pair, np.sum([part[name] for part in parts], axis=0), rtol=1e-5)


def test_running_text_is_measured_by_hand():
    measured = running_text()(np.array([[2, 1, 0]], np.int32), LOGITS[None])
    nats = -(math.log(0.7) + math.log(0.3)) / 2
    assert_allclose(mean(measured["loss"]), nats, rtol=1e-6)
    assert_allclose(mean(measured["token_accuracy"]), 0.5)
    means = Totals({name: [float(part) for part in pair] for name, pair in measured.items()}).means()
    assert_allclose(means["perplexity"], 1 / math.sqrt(0.7 * 0.3), rtol=1e-6)


def test_the_perplexity_is_of_the_tokens_however_the_target_is_smoothed():
    targets = np.array([[2, 1, 0]], np.int32)
    plain, smooth = running_text()(targets, LOGITS[None]), running_text(0.1)(targets, LOGITS[None])
    assert_allclose(mean(smooth["perplexity"]), mean(plain["loss"]), rtol=1e-6)
    assert_allclose(mean(smooth["loss"]), mean(next_token(0.1)(targets, LOGITS[None])["loss"]), rtol=1e-6)


def test_a_perplexity_beyond_all_numbers_is_one():
    assert math.isfinite(Totals({"perplexity": [1e6, 1.0]}).means()["perplexity"])
