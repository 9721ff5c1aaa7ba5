"""A model costs what its config says, and one that costs too much is not opened."""

import time

import pytest
from model_folders import CONFIG, config_text, put, refused, refused_with, write

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.store import check_limits, list_models, read_model
from transformer_viz.store.limits import LARGEST_FIELDS

BERT = TransformerConfig(
    vocab_size=30_000,
    max_len=512,
    d_model=768,
    num_layers=12,
    num_heads=12,
    ffn_dim=3072,
    positions="learned",
)
WRITER = BERT.replace(architecture="decoder", tie_embeddings=True, labels=None)

TOO_LARGE = {
    "length without positions": (
        {"max_len": 10**9, "positions": "none"},
        "`max_len` = 1,000,000,000 is too large. Choose at most 16,384.",
    ),
    "absurd length": (
        {"max_len": 10**18},
        "`max_len` = 1,000,000,000,000,000,000 is too large. Choose at most 16,384.",
    ),
    "length of a book": (
        {"max_len": 10**6, "vocab_size": 20_000},
        "`max_len` = 1,000,000 is too large. Choose at most 16,384.",
    ),
    "window": ({"window": 10**30}, "`window` = more than 10^30 is too large. Choose at most 16,384."),
    "digits": ({"ffn_dim": 10**4000}, "`ffn_dim` = more than 10^30 is too large. Choose at most 32,768."),
    "layers": ({"num_layers": 10**9}, "`num_layers` = 1,000,000,000 is too large. Choose at most 256."),
    "one layer more": ({"num_layers": 257}, "`num_layers` = 257 is too large. Choose at most 256."),
    "words": ({"vocab_size": 10**9}, "`vocab_size` = 1,000,000,000 is too large. Choose at most 300,000."),
    "classes": (
        {"labels": [str(i) for i in range(10_001)]},
        "`labels` names 10,001 classes. Choose at most 10,000.",
    ),
    "a long label": (
        {"labels": ["good", "b" * 201]},
        "`labels` has a name of 201 characters. Choose at most 200.",
    ),
    "parameters": (
        {
            **{"vocab_size": 300_000, "d_model": 1_200, "embedding_dim": 1_200},
            **{"num_heads": 3, "head_dim": 400, "value_dim": 400},
        },
        "`d_model` = 1,200, `vocab_size` = 300,000 and 1 layer make 365,785,207 parameters; at most "
        "300,000,000 are supported. Choose fewer.",
    ),
    "heads times the square of the length": (
        {"max_len": 16_384},
        "`max_len` = 16,384, `num_heads` = 3 and 1 layer: the trace of such a text would take 6.4 GB; at "
        "most 2.0 GB are supported. Choose a shorter length.",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_config_that_would_cost_too_much_is_refused_unread(model, changes, problem):
    put(model, "config.json", config_text(**changes))
    sentence = f"{model / 'config.json'} cannot be used: {problem}"
    with refused(sentence):
        read_model(model)
    assert [summary.problem for summary in list_models(model.parent)] == [sentence]
    with refused_with(problem):
        write(model.parent, config=CONFIG.replace(**changes), overwrite=True)


def test_both_stacks_and_both_lengths_count():
    translator = CONFIG.replace(architecture="encoder-decoder", labels=None)
    with refused("`num_layers` and `num_decoder_layers` are 300 together. Choose at most 256."):
        check_limits(translator.replace(num_layers=150, num_decoder_layers=150))
    with refused_with("`max_len` = 9,000 and `target_max_len` = 9,000, `num_heads` = 3 and 2 layers:"):
        check_limits(translator.replace(max_len=9000))


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ({"num_layers": 10**9}, "`num_layers` = 1,000,000,000 is too large."),
        ({"vocab_size": 10**9}, "`vocab_size` = 1,000,000,000 is too large."),
        ({"ffn_dim": 10**4000}, "`ffn_dim` = more than 10^30 is too large."),
        ({"num_layers": 257}, "`num_layers` = 257 is too large. Choose at most 256."),
        ({"num_layers": 10**9, "ffn_dim": 10**4000}, "`num_layers` = 1,000,000,000 is too large."),
    ],
    ids=["layers", "vocabulary", "width", "one layer too many", "layers and width"],
)
def test_a_config_that_lies_about_its_sizes_is_refused_before_its_shapes_are_listed(model, sizes, problem):
    put(model, "config.json", config_text(**sizes))
    start = time.process_time()
    with refused_with(problem):
        read_model(model)
    [summary] = list_models(model.parent)
    assert time.process_time() - start < 1
    assert problem in summary.problem


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_every_preset_may_be_opened(config):
    check_limits(config)


@pytest.mark.parametrize("config", [BERT, WRITER], ids=["reader", "writer"])
@pytest.mark.parametrize("words", [30_000, 150_000])
def test_models_of_the_size_of_bert_may_be_opened(config, words):
    check_limits(config.replace(vocab_size=words))


def test_the_largest_values_are_of_fields_there_are():
    assert LARGEST_FIELDS.keys() <= CONFIG.__dict__.keys()
