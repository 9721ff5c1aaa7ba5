"""Masks and padding, chosen by name in a `Request`, are what the model really computes with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.config import PAD_ID
from transformer_viz.network.named_masks import mask_to_bits, named_mask
from transformer_viz.trace.request import Request

TEXT = "A lovely film, not good."
NAMES = ["none", "padding", "causal", "window:1", "window:2+causal+padding", "painted"]


def painted(queries, keys):
    mask = np.random.default_rng(5).random((queries, keys)) < 0.5
    mask[2], mask[0, 0] = False, True
    return "painted:" + mask_to_bits(mask)


def check(weights, name, key_ids):
    """Assert that weights are 0 exactly where the mask says, and that rows sum to 1, or to 0 if masked."""
    mask = named_mask(name, weights.shape[1], key_ids)
    assert_array_equal(weights > 0, np.broadcast_to(mask, weights.shape))
    expected = np.broadcast_to(mask.any(axis=-1), weights.shape[:2])
    assert_allclose(weights.sum(axis=-1), expected, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_an_encoder_are_gaps_where_the_mask_says(explorer, name):
    size = len(explorer.trace(TEXT).tokens) + 3
    name = painted(size, size) if name == "painted" else name
    trace = explorer.run(Request.of("small", TEXT, attention_mask=name, padding=3))
    assert_array_equal(trace.values.attention_mask[0], named_mask(name, size, trace.token_ids))
    for block in trace.encoder:
        check(block.attention.weights, name, trace.token_ids)


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_a_decoder_are_gaps_where_the_mask_says(writer, name):
    size = len(writer.trace(TEXT).tokens) + 2
    name = painted(size, size) if name == "painted" else name
    trace = writer.run(Request.of("writer", TEXT, attention_mask=name, padding=2))
    for block in trace.decoder:
        check(block.self_attention.weights, name, trace.token_ids)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["attention_mask", "target_attention_mask", "cross_attention_mask"])
def test_each_attention_of_an_encoder_decoder_takes_its_own_mask(translator, kind, name):
    plain = translator.run(Request.of("translator", TEXT, "one two three"))
    assert len(plain.target_ids) == 4
    queries = len(plain.token_ids) + 3 if kind == "attention_mask" else 6
    keys = 6 if kind == "target_attention_mask" else len(plain.token_ids) + 3
    name = painted(queries, keys) if name == "painted" else name
    run = Request.of("translator", TEXT, "one two three", padding=3, target_padding=2, **{kind: name})
    trace = translator.run(run)
    assert trace.tokens[-3:] == ("[PAD]",) * 3
    assert trace.target_tokens[-2:] == ("[PAD]",) * 2
    if kind == "attention_mask":
        check(trace.encoder[1].attention.weights, name, trace.token_ids)
    elif kind == "target_attention_mask":
        check(trace.decoder[2].self_attention.weights, name, trace.target_ids)
    else:
        check(trace.decoder[2].cross_attention.weights, name, trace.token_ids)


def test_a_padding_mask_keeps_the_real_tokens_as_they_were(explorer):
    alone = explorer.run(Request.of("small", TEXT))
    size = len(alone.tokens)
    padded = explorer.run(Request.of("small", TEXT, attention_mask="padding", padding=4))
    for mine, its in zip(alone.encoder, padded.encoder, strict=True):
        weights = its.attention.weights
        assert_allclose(weights[:, :size, :size], mine.attention.weights, atol=1e-5)
        assert not weights[..., size:].any()
    assert_allclose(padded.probs, alone.probs, atol=1e-5)


def test_without_a_mask_padding_takes_its_share_and_changes_the_prediction(explorer):
    alone = explorer.run(Request.of("small", TEXT))
    size = len(alone.tokens)
    padded = explorer.run(Request.of("small", TEXT, attention_mask="none", padding=4))
    to_padding = padded.encoder[0].attention.weights[:, :size, size:].sum(axis=-1)
    assert (to_padding > 0.01).all()
    assert np.abs(padded.probs - alone.probs).max() > 1e-3


def test_padding_is_padding_and_stands_after_the_text(explorer):
    alone, padded = (
        explorer.run(Request.of("small", TEXT)),
        explorer.run(Request.of("small", TEXT, padding=2)),
    )
    assert_array_equal(padded.token_ids, [*alone.token_ids, PAD_ID, PAD_ID])
    assert padded.tokens == (*alone.tokens, "[PAD]", "[PAD]")
    assert padded.words == (*alone.words, "", "")
    assert padded.text == alone.text
    assert_array_equal(padded.values.attention_mask[0, 0], padded.token_ids != PAD_ID)


@pytest.mark.parametrize("padding", [-1, 17])
def test_more_padding_than_there_is_room_for_is_refused(explorer, padding):
    with pytest.raises(ValueError, match=f"room for 0 to 16 .PAD. after 7 tokens.* Received: {padding}"):
        explorer.run(Request.of("small", TEXT, padding=padding))


def test_padding_of_a_target_needs_a_target(explorer):
    with pytest.raises(ValueError, match="belongs to an encoder-decoder"):
        explorer.run(Request.of("small", TEXT, target_padding=1))


def test_a_mask_that_is_none_is_refused(explorer):
    with pytest.raises(ValueError, match="There is no mask 'diagonal'"):
        explorer.run(Request.of("small", TEXT, attention_mask="diagonal"))


def test_another_mask_never_compiles_again(explorer):
    explorer.run(Request.of("small", TEXT))
    compiled = explorer.num_compilations
    for name in ("none", "causal", "window:1"):
        explorer.run(Request.of("small", TEXT, attention_mask=name, padding=1))
    assert explorer.num_compilations == compiled
