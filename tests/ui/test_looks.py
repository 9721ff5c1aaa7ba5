"""What is shown of a trace that is looked at in another way."""

import dataclasses
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from made_traces import TOKENS, encoder_trace, writing_trace
from numpy.testing import assert_allclose
from shelf import shelved

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.pictures.lens import described, payload_of
from transformer_viz.pictures.looks import LOOKS, ONE_HEAD, apply_looks, is_possible

SHELF = Path(__file__).parents[2] / "models"
TEXT = "Unbelievably, he disappeared."


@pytest.fixture(scope="module")
def trace():
    explorer = shelved("translate-en-fr")
    return explorer.trace(TEXT, target=explorer.generate(TEXT, keep=None).text)


@pytest.fixture(scope="module")
def tokens(trace):
    return {kind: (found.query_tokens, found.key_tokens) for kind, found in trace.kinds().items()}


def texts(look):
    return look.rows.labels, look.columns.labels


def test_without_a_look_everything_is_as_it_is(trace, tokens):
    seen = apply_looks(trace, tokens, ())
    assert {kind: texts(look) for kind, look in seen.items()} == {
        kind: tuple(map(list, both)) for kind, both in tokens.items()
    }
    assert seen["cross"].found.layers[0].weights is trace.decoder[0].cross_attention.weights


def test_words_are_what_stands_between_blanks(trace, tokens):
    seen = apply_looks(trace, tokens, ("words",))
    words = [label.replace("▁", "") for label in seen["encoder"].rows.labels]
    assert words == ["Unbelievably", ",", "he", "disappeared", "."]
    for look in seen.values():
        for layer in look.found.layers:
            assert_allclose(layer.weights.sum(axis=-1), 1, atol=1e-5)


def test_characters_of_a_chinese_word_are_merged():
    trace = shelved("hotel-zh").trace("房间干净，服务员好。")
    assert len(trace.tokens) == len(trace.text)
    found = tv.word_attention(trace)["encoder"]
    assert found.query_tokens == found.key_tokens == ("房间", "干净", "，", "服务员", "好", "。")
    merged, weights = found.layers[0].weights, trace.encoder[0].attention.weights
    assert_allclose(merged[:, 3, 1], weights[:, 5:8, 2:4].sum(axis=2).mean(axis=1), atol=1e-6)
    assert_allclose(merged.sum(axis=-1), 1, atol=1e-6)


def test_words_are_as_typed_and_special_tokens_stay_alone():
    trace = shelved("translate-en-zh").trace("Unbelievable!", target="我们今天去")
    found = tv.word_attention(trace)
    assert trace.target_tokens == ("[START]", *"我们今天去")
    assert found["cross"].query_tokens == found["decoder"].key_tokens == ("[START]", "我们", "今天", "去")
    assert found["cross"].key_tokens == found["encoder"].query_tokens == ("Unbelievable", "!")
    assert (found["decoder"].mask == np.tri(4, dtype=bool)).all()


def test_captions_say_that_words_count_as_tokens(trace):
    merged, plain = (
        payload_of(trace, Words("en"), looks).decode("utf-8", "replace") for looks in (["words"], [])
    )
    assert merged.count("Each word counts as one token here.") == 3 * 2 * 8
    assert "counts as one token" not in plain


def test_what_a_decoder_writes_next_stands_after_a_whole_word(trace, tokens):
    written = [f"{token} → next" for token in trace.target_tokens]
    seen = apply_looks(trace, tokens | {"cross": (written, trace.tokens)}, ("words",))
    assert all(label.count("→") == 1 for label in seen["cross"].rows.labels)


def test_special_tokens_are_left_out_and_rows_shared_out_anew(trace, tokens):
    seen = apply_looks(trace, tokens, ("special",))
    decoder = seen["decoder"].found
    assert "[START]" in tokens["decoder"][0]
    assert "[START]" not in [*seen["decoder"].rows.labels, *seen["decoder"].columns.labels]
    assert "[START]" not in seen["cross"].rows.labels
    sums = decoder.layers[0].weights.sum(axis=-1)
    assert_allclose(sums[sums > 0], 1, atol=1e-5)
    assert decoder.mask.shape[-2:] == decoder.layers[0].weights.shape[-2:]


def test_the_sink_is_the_token_that_is_read_most(trace, tokens):
    weights = np.stack([layer.weights for layer in trace.kinds()["cross"].layers])
    most = tokens["cross"][1][weights.mean(axis=(0, 1, 2)).argmax()]
    seen = apply_looks(trace, tokens, ("sink",))
    left = list(tokens["cross"][1])
    left.remove(most)
    assert seen["cross"].columns.labels == left


@pytest.mark.parametrize(("look", "reduce"), [("mean", np.mean), ("max", np.max)])
def test_all_heads_are_one(trace, tokens, look, reduce):
    seen = apply_looks(trace, tokens, (look,))
    expected = reduce(trace.encoder[1].attention.weights, axis=0)
    assert_allclose(seen["encoder"].found.layers[1].weights, expected[None], atol=1e-6)


def test_rollout_is_of_self_attention(trace, tokens):
    seen = apply_looks(trace, tokens, ("rollout",))
    assert seen["encoder"].found.layers[1].weights.shape[0] == 1
    assert np.triu(seen["decoder"].found.layers[-1].weights[0], 1).max() == 0


def test_every_look_is_offered_where_it_changes_something(trace):
    assert [look for look in LOOKS if is_possible(trace, look)] == list(LOOKS)
    sentence = shelved("single-block").trace("not good")
    assert [look for look in LOOKS if is_possible(sentence, look)] == ["mean", "max"]


@pytest.mark.parametrize("looks", [(), ("words",), ("special",), ("words", "sink")])
def test_every_token_knows_its_sentence_however_it_is_looked_at(looks):
    explorer = shelved("single-block")
    trace = explorer.trace("A dull film! I left early, at 9.30. She stayed.")
    rows = apply_looks(trace, {"encoder": (trace.tokens, trace.tokens)}, looks)["encoder"].rows
    by_sentence = ["".join(rows.labels[i] for i in np.flatnonzero(rows.sentences == s)) for s in range(3)]
    assert [by_sentence[0][:1], by_sentence[1][:1], by_sentence[2][:3]] == ["a", "i", "she"]
    assert rows.sentences.tolist() == sorted(rows.sentences.tolist())
    assert len(rows.sentences) == len(rows.labels)


PIECES = {"[START]": (0, 0), "un": (0, 2), "##likely": (2, 8), ",": (8, 9), "no": (9, 11), "[END]": (11, 11)}
"""Tokens of a text -> where they are in it."""


def typed(make, **options):
    """Return a trace of `PIECES`, of which an encoder-decoder writes the first four."""
    places = tuple(PIECES.values())
    sides = (tuple(PIECES), tuple(PIECES)[:4]) if make is writing_trace else (tuple(PIECES),)
    facts = {"text": "unlikely,no", "offsets": places}
    if make is writing_trace:
        facts |= {"probs": np.full((4, 2), 0.5, np.float32), "target_text": "unlikely,"}
        facts |= {"target_offsets": places[:4]}
    return dataclasses.replace(make(*sides, **options), **facts)


def reading(weights):
    """Return the trace of one head with these weights."""
    trace = encoder_trace(TOKENS, layers=1, heads=1)
    block = trace.encoder[0]
    found = block.attention._replace(weights=np.asarray(weights, np.float32)[None])
    values = trace.values._replace(encoder=(block._replace(self_attention=found),))
    return dataclasses.replace(trace, values=values)


def test_what_is_said_of_places_counts_the_tokens_that_are_left_out():
    sink, size = 3, len(TOKENS)
    weights = 0.5 * np.eye(size, k=-1)
    weights[:, sink] += 1 - weights.sum(axis=-1)
    shown = described(reading(weights), Words("en"), ("sink",))["encoder"]
    assert shown.tokens[1] == [token for token in TOKENS if token != TOKENS[sink]]
    assert shown.captions == [["Here each token reads the one before it (100% on average)."]]
    assert (shown.metrics["distance"], shown.metrics["previous"]) == ([[1]], [[1]])


def test_the_most_read_token_that_is_said_is_one_that_is_shown():
    weights = np.zeros((7, 7))
    weights[:, [1, 5]] = 0.6, 0.4
    shown = described(reading(weights), Words("en"), ("sink",))["encoder"]
    assert shown.captions[0][0].startswith(f"Here every row reads “{TOKENS[5]}” (100%")


def test_of_the_largest_weights_of_all_heads_shares_of_their_row_are_said():
    for shown in described(typed(writing_trace, heads=5), Words("en"), ("max",)).values():
        assert max(weights.weights.sum(axis=-1).max() for weights in shown.found.layers) > 1
        assert all(int(share) <= 100 for share in re.findall(r"(\d+)%", str(shown.captions)))
        assert np.nanmax(shown.metrics["entropy"]) <= np.log(len(PIECES)) + 1e-6


COMBINATIONS = [
    looks
    for count in range(len(LOOKS) + 1)
    for looks in itertools.combinations(LOOKS, count)
    if len({*looks} & {*ONE_HEAD}) < 2
]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_head_has_a_caption_and_figures_in_every_combination_of_looks(language):
    traces = [typed(encoder_trace), encoder_trace(TOKENS[:1]), typed(writing_trace)]
    for trace, looks in itertools.product(traces, COMBINATIONS):
        assert payload_of(trace, Words(language), looks)
        for shown in described(trace, Words(language), looks).values():
            heads = [len(layer.weights) for layer in shown.found.layers]
            assert [[*map(bool, layer)] for layer in shown.captions] == [[True] * count for count in heads]
            assert {np.shape(figures) for figures in shown.metrics.values()} == {(len(heads), heads[0])}
            sizes = tuple(map(len, shown.tokens))
            assert shown.found.layers[0].weights.shape[1:] == sizes
            assert np.broadcast_shapes(shown.found.mask.shape[2:], sizes) == sizes
            assert {shares.shape for shares in shown.evidence.numbers} == {
                (len(heads), heads[0], len(shown.evidence.names))
            }
