import math

import pytest
from numpy.testing import assert_allclose

from transformer_viz.network.fine_tuning import child_config
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.recipes import RECIPES
from transformer_viz.training.runs.settings import TrainingSettings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1. Received: 0."),
        ({"batch_size": True}, "`batch_size` must be a whole number of at least 1. Received: True."),
        ({"learning_rate": float("nan")}, "`learning_rate` must be at least 0 and below 1. Received: nan."),
        ({"learning_rate": -1.0}, "`learning_rate` must be at least 0 and below 1. Received: -1.0."),
        ({"learning_rate": 0.0}, "`learning_rate` must be above 0."),
        ({"validation": 0.0}, "`validation` must be above 0."),
        (
            {"validation": 0.5, "test_share": 0.5},
            "`validation` and `test_share` leave nothing to train on: choose smaller shares.",
        ),
        ({"word_dropout": 1.0}, "`word_dropout` must be at least 0 and below 1. Received: 1.0."),
        ({"weight_decay": -0.1}, "`weight_decay` must be at least 0. Received: -0.1."),
        ({"clip_norm": float("inf")}, "`clip_norm` must be at least 0. Received: inf."),
        ({"warmup": "4"}, "`warmup` must be at least 0. Received: '4'."),
        ({"schedule": "linear"}, "`schedule` must be one of cosine, paper, constant. Received: 'linear'."),
        ({"precision": "int8"}, "`precision` must be one of float32, bfloat16, float16. Received: 'int8'."),
        (
            {"schedule": "paper", "warmup": 0.0},
            '`schedule` = "paper" falls from the end of the warm-up: set `warmup` above 0.',
        ),
        ({"pack": 1}, "`pack` must be True or False. Received: 1."),
        ({"seed": -1}, "`seed` must be a whole number of at least 0. Received: -1."),
    ],
)
def test_error_names_the_field_and_the_value(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        TrainingSettings(**values)
    assert str(error.value) == message


def test_steps_are_counted_with_the_last_short_batch():
    settings = TrainingSettings(epochs=3, batch_size=32, warmup=0.25)
    assert settings.total_steps(65) == 9
    assert settings.warmup_steps(65) == 2


CONFIGS = {
    "encoder": PRESETS["single-block"],
    "decoder": PRESETS["gpt-mini"],
    "masked": PRESETS["bert-mini"],
    "encoder-decoder": PRESETS["vaswani-tiny"],
}

STARTS = {
    "reverse": ["encoder-decoder"],
    "labels": ["encoder", "decoder", "masked"],
    "texts": ["decoder", "masked"],
}


@pytest.mark.parametrize("recipe", STARTS)
def test_a_task_can_start_from_the_models_that_can_become_its_own(recipe):
    for name, config in CONFIGS.items():
        assert RECIPES[recipe].can_start_from(config) == (name in STARTS[recipe])
        if name in STARTS[recipe]:
            child = child_config(config, classifies=RECIPES[recipe].classifies)
            assert child.predicts_tokens == RECIPES[recipe].config().predicts_tokens


def test_a_warmup_of_one_or_more_is_a_number_of_steps():
    assert TrainingSettings(warmup=4000).warmup_steps(10) == 4000


def test_the_papers_schedule_is_its_equation():
    d_model, warmup = 512, 4000
    settings = TrainingSettings(schedule="paper", warmup=warmup, learning_rate=(d_model * warmup) ** -0.5)
    for step in (1, 17, 4000, 4001, 100_000):
        expected = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert_allclose(settings.learning_rate_at(step - 1, 10**6), expected)


def test_the_cosine_rises_to_its_peak_and_falls_to_nothing():
    settings = TrainingSettings(epochs=1, batch_size=1, warmup=0.1, learning_rate=0.5)
    rates = [settings.learning_rate_at(step, 100) for step in range(101)]
    assert_allclose(rates[:10], [0.05 * (step + 1) for step in range(10)])
    assert rates[10] == max(rates) == 0.5
    assert_allclose(rates[55], 0.25)
    assert_allclose(rates[100], 0, atol=1e-12)
    assert_allclose(rates[40], 0.25 * (1 + math.cos(math.pi / 3)))


def test_a_constant_rate_stays():
    settings = TrainingSettings(schedule="constant", warmup=2, learning_rate=0.1)
    assert [settings.learning_rate_at(step, 100) for step in (0, 1, 2, 5000)] == [0.05, 0.1, 0.1, 0.1]
