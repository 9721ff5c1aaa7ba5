import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.text_pairs import TextPairs

CONFIG = TransformerConfig(
    vocab_size=29, max_len=31, d_model=8, num_heads=2, ffn_dim=8, norm="pre", dropout=0.2
)


def a_dataset(settings, **values):
    return LabelledTexts(TrainingJob(config=CONFIG, settings=settings, data="parity", rows=100, **values))


def taught(settings, steps=8, dataset=None, strategy=None):
    dataset = dataset or a_dataset(settings)
    trainer = ModelTrainer(dataset, settings, strategy)
    losses = [
        trainer.train(*batch, settings.learning_rate)["loss"][0]
        for batch in list(dataset.batches(settings, 0))[:steps]
    ]
    return trainer, losses


def test_the_same_seed_gives_the_same_model():
    settings = TrainingSettings(batch_size=16, word_dropout=0.2, crop=0.5)
    first, again = taught(settings)[0].parameters(), taught(settings)[0].parameters()
    for name, value in first.items():
        assert_array_equal(value, again[name])


def test_a_state_put_back_goes_on_as_if_nothing_had_been():
    settings = TrainingSettings(batch_size=16, average=0.9, clip_norm=1.0, weight_decay=0.01)
    dataset = a_dataset(settings)
    batches = list(dataset.batches(settings, 0))
    trainer = ModelTrainer(dataset, settings)
    for batch in batches[:3]:
        trainer.train(*batch, 0.01)
    state = trainer.state()
    other = ModelTrainer(dataset, settings)
    other.restore(state)
    for batch in batches[3:]:
        assert trainer.train(*batch, 0.01) == other.train(*batch, 0.01)
    for name, value in trainer.state().items():
        assert_array_equal(value, other.state()[name])


def test_a_state_of_another_model_is_refused():
    settings = TrainingSettings()
    dataset = a_dataset(settings)
    state = ModelTrainer(dataset, settings).state()
    state.pop(next(iter(state)))
    with pytest.raises(RunError, match="The checkpoint is of another model"):
        ModelTrainer(dataset, settings).restore(state)


def test_the_averages_are_kept_and_the_parameters_go_on():
    settings = TrainingSettings(batch_size=16, average=0.9)
    trainer, _ = taught(settings)
    raw = trainer.model.get_weights()
    averages = trainer.parameters()
    for before, after in zip(raw, trainer.model.get_weights(), strict=True):
        assert_array_equal(before, after)
    now = {name: np.asarray(value) for name, value in trainer.model.parameters().items()}
    assert any(not np.array_equal(averages[name], now[name]) for name in now)


def test_clipping_shortens_the_step_of_plain_descent():
    """Adam divides by the gradient's size, so the norm is measured on what the optimizer is given."""
    import keras

    settings = TrainingSettings(clip_norm=0.001)
    trainer = ModelTrainer(a_dataset(settings), settings)
    gradients = [keras.ops.ones(variable.shape) for variable in trainer.model.trainable_variables]
    clipped = trainer.optimizer._clip_gradients(gradients)
    norm = np.sqrt(sum((np.asarray(gradient) ** 2).sum() for gradient in clipped))
    assert_allclose(norm, 0.001, rtol=1e-5)


def test_weight_decay_shrinks_matrices_and_tables_and_nothing_else():
    settings = TrainingSettings(weight_decay=0.5)
    trainer = ModelTrainer(a_dataset(settings), settings)
    variables = trainer.model.trainable_variables
    for variable in variables:
        variable.assign(np.ones(variable.shape))
    trainer.optimizer.learning_rate = 0.1
    trainer.optimizer.apply([np.zeros(variable.shape, np.float32) for variable in variables], variables)
    for name, value in trainer.parameters().items():
        shrinks = name.endswith(("kernel", "embeddings"))
        assert_allclose(value, 0.95 if shrinks else 1.0, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_learns_and_keeps_its_parameters_in_full(precision):
    settings = TrainingSettings(batch_size=16, learning_rate=0.02, precision=precision)
    dataset = a_dataset(settings)
    trainer = ModelTrainer(dataset, settings)
    losses = [
        trainer.train(*batch, 0.02)["loss"][0] / 16
        for epoch in range(4)
        for batch in dataset.batches(settings, epoch)
    ]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    assert {value.dtype for value in trainer.parameters().values()} == {np.dtype("float32")}
    assert trainer.model(np.ones((1, 3), np.int32)).dtype == precision
    full, _ = taught(TrainingSettings(batch_size=16))
    assert full.model(np.ones((1, 3), np.int32)).dtype == "float32"  # the setting was of that one model alone


@pytest.mark.quick("False-repeat-decoder", "True-copy-encoder-decoder")
@pytest.mark.parametrize(("task", "architecture"), [("copy", "encoder-decoder"), ("repeat", "decoder")])
@pytest.mark.parametrize("tie_embeddings", [False, True])
def test_decoders_learn_in_half_precision(task, architecture, tie_embeddings):
    settings = TrainingSettings(batch_size=16, precision="float16")
    config = TransformerConfig(
        architecture=architecture,
        d_model=8,
        num_heads=2,
        ffn_dim=8,
        max_len=64,
        vocab_size=40,
        tie_embeddings=tie_embeddings,
    )
    dataset = TextPairs(TrainingJob(config=config, settings=settings, data=task, rows=100))
    trainer = ModelTrainer(dataset, settings)
    losses = [
        trainer.train(*batch, 0.01)["loss"]
        for epoch in range(4)
        for batch in dataset.batches(settings, epoch)
    ]
    assert losses[-1][0] / losses[-1][1] < losses[0][0] / losses[0][1]


def test_tokens_are_counted_without_padding():
    settings = TrainingSettings(batch_size=16)
    dataset = a_dataset(settings)
    inputs, targets = next(iter(dataset.batches(settings, 0)))
    measured = ModelTrainer(dataset, settings).train(inputs, targets, 0.001)
    assert measured["tokens"][0] == (inputs != 0).sum()
    assert measured["accuracy"][1] == len(targets)


def test_an_encoder_decoder_takes_both_sides():
    settings = TrainingSettings(batch_size=16)
    config = TransformerConfig(
        architecture="encoder-decoder", d_model=8, num_heads=2, ffn_dim=8, vocab_size=20
    )
    dataset = TextPairs(TrainingJob(config=config, settings=settings, data="copy", rows=100))
    (source, before), targets = next(iter(dataset.batches(settings, 0)))
    measured = ModelTrainer(dataset, settings).train((source, before), targets, 0.001)
    assert measured["tokens"][0] == (source != 0).sum() + (before != 0).sum()
    assert measured["loss"][1] == (targets != 0).sum()
