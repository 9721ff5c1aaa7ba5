import pytest

from transformer_viz.training.settings import TrainingSettings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1. Received: 0."),
        ({"batch_size": True}, "`batch_size` must be a whole number of at least 1. Received: True."),
        ({"learning_rate": float("nan")}, "`learning_rate` must be at least 0 and below 1. Received: nan."),
        ({"learning_rate": -1.0}, "`learning_rate` must be at least 0 and below 1. Received: -1.0."),
        ({"learning_rate": 0.0}, "`learning_rate` must be above 0."),
        ({"validation": 0.0}, "`validation` must be above 0."),
        ({"word_dropout": 1.0}, "`word_dropout` must be at least 0 and below 1. Received: 1.0."),
        ({"weight_decay": -0.1}, "`weight_decay` must be at least 0. Received: -0.1."),
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
