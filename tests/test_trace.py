import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.trace.trace import Trace

TEXT = "A lovely zyzzyva, not good."


@pytest.fixture(scope="module")
def trace(explorer):
    return explorer.trace(TEXT)


def test_save_and_load_give_every_array_and_word_back(trace, tmp_path):
    trace.save(tmp_path / "t.npz")
    again = Trace.load(tmp_path / "t.npz")
    for name in ("model", "text", "tokens", "offsets", "num_dropped", "cut_at", "labels"):
        assert getattr(again, name) == getattr(trace, name)
    assert_array_equal(again.probs, trace.probs)
    assert_array_equal(again.token_ids, trace.token_ids)
    assert len(again.encoder) == 2
    for ours, theirs in zip(trace.encoder, again.encoder, strict=True):
        for name in ours.attention._fields:
            assert_array_equal(getattr(theirs.attention, name), getattr(ours.attention, name))
        assert_array_equal(theirs.ffn.hidden, ours.ffn.hidden)
        assert_array_equal(theirs.resid_post, ours.resid_post)
    assert_array_equal(again.values.pooled, trace.values.pooled)


@pytest.mark.parametrize("keep", ["all", "weights"])
@pytest.mark.parametrize("name", ["explorer", "translator", "writer"])
def test_what_is_loaded_equals_what_was_saved(request, tmp_path, name, keep):
    explorer = request.getfixturevalue(name)
    trace = explorer.trace(TEXT, target="one two" if name == "translator" else None, keep=keep)
    trace.save(tmp_path / "t.npz")
    again = Trace.load(tmp_path / "t.npz")
    assert again == trace
    assert again.nbytes == trace.nbytes
    assert again != dataclasses.replace(trace, text="other")
    assert again != dataclasses.replace(trace, probs=trace.probs + 1)


def test_the_frame_of_an_encoder_decoder_has_every_attention(translator):
    frame = translator.trace(TEXT, target="one two").to_frame()
    cells = frame.groupby(["stack", "kind"]).size()
    assert dict(cells) == {
        ("encoder", "self"): 2 * 3 * 7 * 7,
        ("decoder", "self"): 3 * 3 * 3 * 3,
        ("decoder", "cross"): 3 * 3 * 3 * 7,
    }
    row = frame[(frame.kind == "cross") & (frame["query"] == 1) & (frame.key == 2)].iloc[0]
    assert (row.query_token, row.key_token) == ("one", "[UNK]")


def test_an_encoder_has_one_kind_of_attention(trace):
    [(kind, found)] = trace.kinds().items()
    assert kind == "encoder"
    assert found.layers == [block.attention for block in trace.encoder]
    assert_array_equal(found.mask, trace.values.attention_mask[None])
    assert (found.query_tokens, found.key_tokens) == (trace.tokens, trace.tokens)


def test_a_decoder_alone_reads_its_own_text_under_its_own_mask(writer):
    trace = writer.trace(TEXT)
    [(kind, found)] = trace.kinds().items()
    assert kind == "decoder"
    assert len(found.layers) == 2
    assert_array_equal(found.mask[0, 0], np.tril(np.ones((len(trace.tokens),) * 2, bool)))
    assert (found.query_tokens, found.key_tokens) == (trace.tokens, trace.tokens)


def test_the_answer_of_a_decoder_follows_its_last_token_whatever_is_padded(writer, translator):
    plain, padded = (writer.trace(TEXT, padding=padding) for padding in (0, 5))
    assert len(padded.tokens) == len(plain.tokens) + 5
    assert_allclose(padded.answer_probs, plain.answer_probs, atol=1e-6)
    assert_array_equal(plain.answer_probs, plain.probs[-1])
    assert np.abs(padded.probs[-1] - plain.probs[-1]).max() > 1e-3
    plain, padded = (translator.trace(TEXT, target="un film", target_padding=n) for n in (0, 3))
    assert_allclose(padded.answer_probs, plain.answer_probs, atol=1e-6)


@pytest.mark.parametrize("keep", ["all", "weights"])
def test_an_encoder_decoder_has_three_kinds_each_with_its_own_mask_and_tokens(translator, keep):
    trace = translator.trace(TEXT, target="one two", keep=keep)
    kinds = trace.kinds()
    assert {kind: len(found.layers) for kind, found in kinds.items()} == {
        "encoder": 2,
        "decoder": 3,
        "cross": 3,
    }
    assert kinds["cross"].layers == [block.cross_attention for block in trace.decoder]
    assert kinds["decoder"].layers == [block.self_attention for block in trace.decoder]
    written, read = trace.target_tokens, trace.tokens
    sides = {kind: (found.query_tokens, found.key_tokens) for kind, found in kinds.items()}
    assert sides == {"encoder": (read, read), "decoder": (written, written), "cross": (written, read)}
    for found in kinds.values():
        mask = found.mask_of(0)
        shape = np.broadcast_shapes(mask.shape, found.layers[0].weights.shape)
        assert shape == found.layers[0].weights.shape
        allowed = np.broadcast_to(mask, shape)
        assert not any(layer.weights[~allowed].any() for layer in found.layers)


def test_a_file_of_a_former_version_names_an_encoders_self_attention_otherwise(trace, tmp_path):
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as file:
        former = {name.replace(".self_attention", ".attention"): file[name] for name in file.files}
    assert "encoder.0.attention.weights" in former
    np.savez(tmp_path / "former.npz", **former)
    assert Trace.load(tmp_path / "former.npz") == trace


def test_a_saved_trace_holds_no_pickle(trace, tmp_path):
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"text"])
def test_a_file_that_is_no_trace_is_refused_with_a_sentence(tmp_path, content):
    path = tmp_path / "t.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.npz is not a trace saved by Transformer Viz"):
        Trace.load(path)


def test_a_zip_of_something_else_is_refused_with_a_sentence(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.arange(3))
    with pytest.raises(ValueError, match=r"t\.npz is not a trace saved by Transformer Viz"):
        Trace.load(tmp_path / "t.npz")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*t\.npz"):
        Trace.load(tmp_path / "t.npz")


def test_the_frame_has_one_row_for_each_weight(trace):
    frame = trace.to_frame()
    assert list(frame) == [
        *("stack", "layer", "kind", "head", "query", "key"),
        *("query_token", "key_token", "score", "weight"),
    ]
    assert len(frame) == 2 * 3 * 7 * 7
    row = frame[(frame.layer == 1) & (frame["head"] == 2) & (frame["query"] == 3) & (frame.key == 0)].iloc[0]
    attention = trace.encoder[1].attention
    assert (row.weight, row.score) == (attention.weights[2, 3, 0], attention.scores[2, 3, 0])
    assert (row.query_token, row.key_token) == (trace.tokens[3], trace.tokens[0])


def test_words_are_what_was_typed(trace):
    assert trace.words == ("A", "lovely", "zyzzyva", ",", "not", "good", ".")
    assert trace.tokens == ("a", "lovely", "[UNK]", ",", "not", "good", ".")
    assert_array_equal(trace.unknown, [False, False, True, False, False, False, False])


def test_nbytes_counts_the_arrays(trace):
    attention = trace.encoder[0].attention
    assert trace.nbytes > 2 * sum(array.nbytes for array in attention if array is not None)
