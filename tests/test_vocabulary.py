"""The words that a head prefers are those it gives most weight to in texts, whatever else stands there."""

import numpy as np
import pytest
from running_app import ROOT
from shelf import shelved
from small_models import with_random_parameters

from transformer_viz import store
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.captions import HeadsInText, captions_of, patterns_of_trace
from transformer_viz.pictures.vocabulary import preference_texts
from transformer_viz.questions.preferences.measure import vocabulary_weights, word_preferences
from transformer_viz.questions.preferences.result import Preferences
from transformer_viz.questions.roles.result import Role
from transformer_viz.text.tokenizer import Tokenizer

FIXED = ["attention-only", "single-block"]
TEXT = "the plot was thin but the acting was not bad at all"


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(ROOT / "models"))


@pytest.fixture(scope="module")
def only_attention():
    return shelved("attention-only")


def ratios(weights):
    """Return weights (head, key) as multiples of that of the first key."""
    return weights / weights[..., :1]


def test_weights_in_a_text_stand_in_the_proportion_of_those_in_the_vocabulary(only_attention):
    trace = only_attention.trace(TEXT)
    expected = trace.encoder[0].attention.weights
    for place, query in enumerate(trace.token_ids[:3]):
        found = vocabulary_weights(only_attention, trace.token_ids, [query])
        np.testing.assert_allclose(ratios(found), ratios(expected[:, place]), rtol=2e-3)
        np.testing.assert_allclose(found.mean(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("architecture", "switches"),
    [
        ("encoder", {"norm": "post", "scale_embedding": True}),
        ("decoder", {"norm": "none", "score_cap": 3.0}),
        ("decoder", {"norm": "pre", "norm_kind": "rms", "qk_norm": True, "num_kv_heads": 1}),
        ("encoder", {"norm": "pre", "embedding_norm": True, "embedding_dim": 8}),
        ("encoder-decoder", {"norm": "sandwich", "target_vocab_size": 13, "embedding_norm": True}),
    ],
)
def test_so_they_do_in_every_kind_of_first_layer(reviews, architecture, switches):
    tokenizer = Tokenizer.train(reviews, 60, markers=architecture == "decoder")
    target = Tokenizer.train(["one two three four five six", "seven eight nine"], 13, markers=True)
    config = TransformerConfig(
        architecture=architecture,
        vocab_size=tokenizer.vocab_size,
        d_model=12,
        num_heads=3,
        num_layers=1,
        positions="none",
        max_len=32,
        **switches,
    )
    model = with_random_parameters(config)
    explorer = Explorer(
        model, tokenizer, target_tokenizer=target if architecture == "encoder-decoder" else None
    )
    ids = explorer.encode(reviews[:1])[0]
    trace = model.trace(ids[None], *[np.array([[2, 5]], np.int32)][: len(config.stacks) - 1])
    first = trace.encoder[0].attention if trace.encoder else trace.decoder[0].self_attention
    weights = np.asarray(first.weights)[0, :, -1]  # the last query sees all keys
    found = vocabulary_weights(explorer, ids, ids[-1:])
    np.testing.assert_allclose(found, weights * len(ids), rtol=2e-3, atol=1e-5)


def test_only_without_position_encodings_are_they_fixed(explorer):
    for summary in store.list_models():
        assert store.read_config(summary.name).has_fixed_scores == (summary.name in FIXED)
    assert word_preferences(explorer) == ()


def test_the_preferred_words_are_the_likeliest_of_the_frequent_ones(only_attention):
    vocabulary = only_attention.tokenizer.vocabulary
    keys = np.arange(2, 2002)  # after [PAD] and [UNK]
    for query in (None, "not"):
        queries = keys if query is None else [vocabulary.index(query)]
        weights = vocabulary_weights(only_attention, keys, queries)
        found = word_preferences(only_attention, query)
        assert [head.queries for head in found] == [len(queries)] * 8
        for head, expected in zip(found, weights, strict=True):
            assert len(set(head.words)) == 2000
            assert head.words[0] == vocabulary[keys[expected.argmax()]]
            assert head.words[-1] == vocabulary[keys[expected.argmin()]]
            np.testing.assert_allclose(head.ratios, np.sort(expected)[::-1], rtol=1e-6)


def test_the_mean_over_many_queries_is_that_of_each_alone(only_attention):
    keys, queries = np.arange(2, 12), np.arange(20, 223)
    each = [vocabulary_weights(only_attention, keys, [query]) for query in queries]
    np.testing.assert_allclose(
        vocabulary_weights(only_attention, keys, queries), np.mean(each, axis=0), rtol=1e-5
    )


def test_marks_are_no_words():
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
    for head in word_preferences(Explorer(with_random_parameters(config), tokenizer)):
        assert sorted(head.words) == letters


def test_a_query_outside_the_vocabulary_has_none(only_attention):
    assert word_preferences(only_attention, "xyzzy") == ()


def test_a_caption_names_them_where_there_is_no_role(only_attention):
    trace, words = only_attention.trace("An awful film and a waste of two hours."), Words("en")
    texts = preference_texts(words, word_preferences(only_attention))
    heads = HeadsInText("encoder", trace.kinds()["encoder"], patterns_of_trace(trace)["encoder"])
    usual = [[Role("mixed", np.nan, np.nan, 1.0, 0, 300)] * 8]
    captions = captions_of(words, heads, trace.tokens, usual, None, texts).usual[0]
    assert captions[1] == (
        "No fixed pattern over 300 texts. "
        "In any text it gives most weight to words such as "
        "“7”, “waste”, “awful”: 13.2 to 40.7 times that of an average word."
    )


def test_a_caption_names_no_words_that_are_hardly_preferred():
    weak, strong = Preferences(("a", "b"), (1.9, 0.1), 2), Preferences(("a", "b"), (2.0, 0.1), 2)
    assert preference_texts(Words("en"), (weak,)) == [""]
    assert "“a”, “b”: 0.1 to 2.0 times" in preference_texts(Words("en"), (strong,))[0]
