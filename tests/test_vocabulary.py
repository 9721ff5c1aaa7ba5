"""The words that a head prefers are those it gives most weight to in texts, whatever else stands there."""

import numpy as np
import pytest
from running_app import ROOT

from transformer_viz import store
from transformer_viz.analysis import has_fixed_scores, vocabulary_weights
from transformer_viz.inspection.explorer import Explorer, load
from transformer_viz.language import Words
from transformer_viz.network.model import Transformer
from transformer_viz.pictures.captions import HeadsInText, captions_of, patterns_of_trace
from transformer_viz.pictures.vocabulary import Preferences, preference_texts, preferences_of
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.kind_roles import UsualRole

FIXED = ["attention-only", "single-block"]
TEXT = "the plot was thin but the acting was not bad at all"


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(ROOT / "models"))


def ratios(weights):
    """Return weights (head, query, key) as multiples of that of the first key."""
    return weights / weights[..., :1]


def first_layer(trace):
    return (trace.encoder or trace.decoder)[0]


@pytest.mark.parametrize("name", FIXED)
def test_weights_in_a_text_stand_in_the_proportion_of_those_in_the_vocabulary(name):
    stored, trace = store.read_model(name), load(name).trace(TEXT)
    ids = trace.token_ids[: len(trace.tokens)]
    expected = trace.encoder[0].attention.weights
    found = vocabulary_weights(stored.parameters, stored.config, ids, ids)
    np.testing.assert_allclose(ratios(found), ratios(expected), rtol=2e-3)
    np.testing.assert_allclose(found.mean(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_so_they_do_in_every_kind_of_first_layer(reviews, architecture, norm):
    tokenizer = Tokenizer.train(reviews, 60, markers=architecture == "decoder")
    config = TransformerConfig(
        architecture=architecture,
        vocab_size=tokenizer.vocab_size,
        d_model=12,
        num_heads=3,
        num_layers=2,
        positions="none",
        norm=norm,
        scale_embedding=True,
        max_len=32,
    )
    model = Transformer(config)
    random = np.random.default_rng(8)
    for variable in model.weights:
        variable.assign(random.normal(size=variable.shape))
    trace = Explorer(model, tokenizer, name="fixed").trace(reviews[0])
    weights = trace.kinds()[architecture].layers[0].weights[:, -1:]  # the last query sees all keys
    ids = trace.token_ids[: weights.shape[-1]]
    parameters = {name: np.array(value) for name, value in model.parameters().items()}
    found = vocabulary_weights(parameters, config, ids, ids[-1:])
    np.testing.assert_allclose(found, weights * weights.shape[-1], rtol=2e-3, atol=1e-5)


def test_only_without_position_encodings_are_they_fixed():
    for summary in store.list_models():
        assert has_fixed_scores(store.read_config(summary.name)) == (summary.name in FIXED)
        assert bool(preferences_of(summary.name)) == (summary.name in FIXED)


def test_the_preferred_words_are_the_likeliest_of_the_frequent_ones():
    stored = store.read_model("attention-only")
    vocabulary = Tokenizer.from_json(stored.tokenizer).vocabulary
    keys = np.arange(2, 2002)  # after [PAD] and [UNK]
    for query in (None, "not"):
        queries = keys if query is None else [vocabulary.index(query)]
        weights = vocabulary_weights(stored.parameters, stored.config, keys, queries).mean(axis=1)
        found = preferences_of("attention-only", query)
        assert [head.queries for head in found] == [len(queries)] * 8
        for head, expected in zip(found, weights, strict=True):
            assert len(set(head.words)) == 2000
            assert head.words[0] == vocabulary[keys[expected.argmax()]]
            assert head.words[-1] == vocabulary[keys[expected.argmin()]]
            np.testing.assert_allclose(head.ratios, np.sort(expected)[::-1], rtol=1e-6)


def test_marks_are_no_words_and_a_rewritten_model_has_its_own_preferences(tmp_path):
    tokenizer = Tokenizer.train(["a lovely film\u200b", "a dull plot"], 40, kind="characters", markers=True)
    config = TransformerConfig(
        architecture="decoder",
        vocab_size=tokenizer.vocab_size,
        d_model=6,
        num_heads=2,
        num_layers=1,
        positions="none",
        max_len=8,
    )
    letters = sorted({*"alovelyfilmdullplot", "⟨U+200B⟩"})
    for seed in (1, 2):
        normal = np.random.default_rng(seed).normal
        parameters = {
            name: normal(size=shape).astype("f4") for name, shape in config.parameter_shapes().items()
        }
        folder = store.write_model(
            "letters",
            config=config,
            tokenizer=tokenizer.to_json(),
            card={},
            parameters=parameters,
            folder=tmp_path,
            dtype="float32",
            overwrite=True,
        )
        keys = np.arange(4, tokenizer.vocab_size)  # after [PAD], [UNK], [START] and [END]
        weights = vocabulary_weights(parameters, config, keys, keys).mean(axis=1)
        for head, expected in zip(preferences_of(str(folder)), weights, strict=True):
            assert sorted(head.words) == letters
            np.testing.assert_allclose(head.ratios, np.sort(expected)[::-1], rtol=1e-5)


def test_a_query_outside_the_vocabulary_and_a_model_that_is_gone_have_none():
    assert preferences_of("attention-only", "xyzzy") == ()
    assert preferences_of("never-there") == ()


def test_a_caption_names_them_where_there_is_no_role():
    trace, words = load("attention-only").trace("An awful film and a waste of two hours."), Words("en")
    texts = preference_texts(words, preferences_of("attention-only"))
    heads = HeadsInText("encoder", trace.kinds()["encoder"], patterns_of_trace(trace)["encoder"])
    usual = [[UsualRole("mixed", np.nan, np.nan, 1.0, 0, 300)] * 8]
    captions = captions_of(words, heads, trace.tokens, usual, None, texts)[0]
    assert captions[1] == (
        "In any text it gives most weight to words such as "
        "“7”, “waste”, “awful”: 13.2 to 40.7 times that of an average word."
    )


def test_a_caption_names_no_words_that_are_hardly_preferred():
    weak, strong = Preferences(("a", "b"), (1.9, 0.1), 2), Preferences(("a", "b"), (2.0, 0.1), 2)
    assert preference_texts(Words("en"), (weak,)) == [""]
    assert "“a”, “b”: 0.1 to 2.0 times" in preference_texts(Words("en"), (strong,))[0]
