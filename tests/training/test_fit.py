import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.config import PAD_ID, UNK_ID, TransformerConfig
from transformer_viz.training.fit import crop, fit_classifier, objective, optimizer, targets, training_batches
from transformer_viz.training.settings import TrainingSettings

CONFIG = TransformerConfig(
    vocab_size=13, max_len=9, d_model=8, num_heads=2, ffn_dim=0, norm="pre", dropout=0.0
)
RANDOM = np.random.default_rng(2)


def rows(count):
    """Texts in which token 5 makes the label 1, anywhere among others."""
    label_ids = RANDOM.integers(0, 2, count)
    token_ids = [RANDOM.integers(6, 13, RANDOM.integers(2, 9)) for _ in range(count)]
    for ids, label in zip(token_ids, label_ids, strict=True):
        ids[RANDOM.integers(len(ids))] = 5 if label else 4
    return token_ids, label_ids


@pytest.mark.parametrize("output", ["softmax", "sigmoid"])
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_model_learns_which_word_decides(output, average):
    settings = TrainingSettings(epochs=12, learning_rate=0.01, average=average)
    _, history = fit_classifier(CONFIG.replace(output=output), settings, rows(600), rows(200), verbose=0)
    assert max(epoch["val_accuracy"] for epoch in history) > 0.97


def test_the_best_epoch_is_kept_and_training_stops_early():
    settings = TrainingSettings(epochs=40, learning_rate=0.02, patience=2, average=0.9)
    train, validation = rows(300), rows(150)
    model, history = fit_classifier(CONFIG, settings, train, validation, verbose=0)
    best = max(epoch["val_accuracy"] for epoch in history)
    predicted = np.array([np.argmax(model(ids[None])[0]) for ids in validation[0]])
    assert len(history) < 40
    assert_allclose((predicted == validation[1]).mean(), best, atol=1e-6)


def test_the_same_seed_gives_the_same_model():
    settings = TrainingSettings(epochs=2, word_dropout=0.2)
    config = CONFIG.replace(dropout=0.2)
    train, validation = rows(100), rows(50)
    first, again = (fit_classifier(config, settings, train, validation, verbose=0) for _ in range(2))
    assert first[1] == again[1]
    for ours, theirs in zip(first[0].get_weights(), again[0].get_weights(), strict=True):
        assert_array_equal(ours, theirs)


def test_a_loss_that_is_no_number_ends_with_a_sentence():
    token_ids, label_ids = rows(100)
    config = CONFIG.replace(output="sigmoid")
    with pytest.raises(ValueError, match=r"The loss is no longer a number\. Lower the learning rate\."):
        fit_classifier(config, TrainingSettings(), (token_ids, label_ids * np.nan), rows(20), verbose=0)


def test_word_dropout_hides_its_share_of_words_and_no_padding():
    token_ids, label_ids = rows(2000)
    settings = TrainingSettings(word_dropout=0.3)
    ids = [np.asarray(batch) for batch, _ in training_batches(CONFIG, settings, token_ids, label_ids)]
    words = np.concatenate([batch[batch != PAD_ID] for batch in ids])
    assert len(words) == sum(map(len, token_ids))
    assert abs((words == UNK_ID).mean() - 0.3) < 0.02


def test_a_crop_is_a_part_of_its_text():
    text = np.arange(40)
    crops = [crop(text, RANDOM) for _ in range(300)]
    assert all((np.diff(part) == 1).all() for part in crops)
    assert (min(map(len, crops)), max(map(len, crops))) == (8, 40)
    assert {part[0] for part in crops} > set(range(20))
    for short in ([], [7], [7, 8]):
        assert list(crop(np.array(short), RANDOM)) == short


def test_every_epoch_shows_every_row_once():
    token_ids, label_ids = rows(101)
    dataset = training_batches(CONFIG, TrainingSettings(), token_ids, label_ids)
    for _ in range(2):
        seen = [tuple(row[row != PAD_ID]) for batch, _ in dataset for row in np.asarray(batch)]
        assert sorted(seen) == sorted(map(tuple, token_ids))


def test_the_learning_rate_warms_up_and_falls_to_zero():
    settings = TrainingSettings(epochs=10, batch_size=10, learning_rate=0.02, warmup=0.2)
    schedule = optimizer(settings, 100)._learning_rate
    assert_allclose([schedule(step) for step in (0, 10, 20, 60, 100)], [0, 0.01, 0.02, 0.01, 0], atol=1e-7)


def test_targets_are_one_hot_or_one_column():
    assert_array_equal(targets(CONFIG, [1, 0]), [[0, 1], [1, 0]])
    assert_array_equal(targets(CONFIG.replace(output="sigmoid"), [1, 0]), [[1], [0]])


def test_label_smoothing_raises_the_loss_of_a_sure_answer():
    logits, target = np.float32([[-9, 9]]), np.float32([[0, 1]])
    plain, smooth = (float(objective(CONFIG, s)["loss"](target, logits)) for s in (0.0, 0.1))
    assert plain < 1e-6
    assert smooth > 0.1
