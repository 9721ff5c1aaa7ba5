"""Heads that begin by attending to the same token do so, and the others are as Keras begins."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz import store
from transformer_viz.network.fine_tuning import child_config
from transformer_viz.network.model import Transformer
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.initial import same_token_values
from transformer_viz.training.job import run_job
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

LENGTH = 64
DECODER = PRESETS["gpt-mini"].replace(
    vocab_size=300,
    max_len=LENGTH,
    d_model=128,
    num_heads=4,
    num_layers=3,
    positions="sinusoidal",
    scale_embedding=True,
)


TOKEN_IDS = np.random.default_rng(0).integers(10, 40, (8, LENGTH)).astype(np.int32)


def parameters_of(model):
    return {name: np.array(value) for name, value in model.parameters().items()}


def weights_on_same(model, token_ids, stack):
    """Return the mean weight of each head on the query's token, itself included: float (layer, head)."""
    same = token_ids[:, :, None] == token_ids[:, None, :]
    blocks = getattr(model.trace(token_ids), stack)
    attention = "attention" if stack == "encoder" else "self_attention"
    return np.array(
        [
            (np.array(getattr(block, attention).weights) * same[:, None]).sum(-1).mean((0, 2))
            for block in blocks
        ]
    )


@pytest.mark.parametrize(
    ("config", "stack"),
    [
        (DECODER, "decoder"),
        (DECODER.replace(positions="none"), "decoder"),
        (DECODER.replace(positions="rotary"), "decoder"),
        (DECODER.replace(positions="learned"), "decoder"),
        (PRESETS["bert-mini"].replace(vocab_size=300, max_len=LENGTH, d_model=128, num_layers=3), "encoder"),
    ],
    ids=["sinusoidal", "none", "rotary", "learned", "encoder"],
)
def test_these_heads_begin_with_the_same_token(config, stack):
    model, heads = Transformer(config), 2
    before = parameters_of(model)
    values = same_token_values(before, config, heads)
    for name, value in values.items():
        model.parameters()[name].assign(value)
    weights = weights_on_same(model, TOKEN_IDS, stack)
    assert weights[0, :heads].min() > 0.8
    assert weights[1:-1, :heads].min() > 0.5
    assert weights[:-1, heads:].max() < 0.2, "the other heads"
    assert weights[-1].max() < 0.2, "the last block"
    assert len(values) == 2 * (config.num_layers - 1)
    for name, value in values.items():
        assert_array_equal(value[:, heads * config.head_dim :], before[name][:, heads * config.head_dim :])


def test_the_only_block_has_them_too():
    config = DECODER.replace(num_layers=1)
    assert list(same_token_values(parameters_of(Transformer(config)), config, 1)) == [
        "decoder_0/self_attention/query/kernel",
        "decoder_0/self_attention/key/kernel",
    ]


def test_a_training_begins_with_them(tmp_path):
    data = tmp_path / "texts.txt"
    data.write_text(
        "\n".join(f"The film number {i} was good, but the film number {i + 1} was not." for i in range(60))
    )
    settings = TrainingSettings(
        epochs=1, pack=True, learning_rate=1e-30, schedule="constant", same_token_heads=1
    )
    config, out = DECODER.replace(d_model=64), tmp_path / "model"
    run_job(TrainingJob(config=config, settings=settings, data=data, out=out), runs=tmp_path / "runs")
    query, key = (
        store.read_model(out).parameters[f"decoder_0/self_attention/{part}/kernel"]
        for part in ("query", "key")
    )
    width = config.head_dim
    assert_array_equal(query[:, :width], key[:, :width])
    assert abs(query[:, width:] - key[:, width:]).max() > 0.1

    child = child_config(store.read_config(out), classifies=True)
    with pytest.raises(
        ValueError, match="`same_token_heads` sets initial values, which a model that goes on"
    ):
        TrainingJob(config=child, settings=TrainingSettings(same_token_heads=1), data=data, parent=out)


def test_there_can_be_no_more_than_heads():
    settings = TrainingSettings(same_token_heads=5)
    with pytest.raises(ValueError, match=r"`same_token_heads` may be at most 4, .* Received: 5\."):
        TrainingJob(config=DECODER, settings=settings, data="repeat")


def test_sinusoids_must_not_outweigh_the_tokens():
    config = DECODER.replace(scale_embedding=False)
    with pytest.raises(ValueError, match="`same_token_heads` needs `scale_embedding` = true"):
        TrainingJob(config=config, settings=TrainingSettings(same_token_heads=1), data="repeat")
