"""Models with a large vocabulary: only the likeliest tokens leave the engine, and pages say the same."""

import base64
import itertools
import json
import pickle
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pages import open_page
from small_models import with_random_parameters, write

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import TransformerConfig
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.comparison import compare
from transformer_viz.trace.softmax import softmax
from transformer_viz.trace.top_tokens import KEPT, MOST_LABELS, TopTokens, is_whole, with_top_tokens
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.answers import whole_answer
from transformer_viz.ui.workbench.view import npz_of

SYLLABLES = ["ba", "ne", "ki", "lo", "mu", "ra", "se", "ti", "vo", "zu", "da", "fe"]

WORDS = ["".join(word) for word in itertools.islice(itertools.product(SYLLABLES, repeat=4), MOST_LABELS + 99)]

TEXT, MASKED = " ".join(WORDS[3000:3007]), f"{WORDS[9]} [MASK] {WORDS[11]} [MASK]"

ARCHITECTURES = {
    "many-decoder": {"architecture": "decoder", "positions": "learned"},
    "many-masked": {"architecture": "encoder", "output": "tokens"},
    "many-pairs": {"architecture": "encoder-decoder"},
}

PAGES = [
    *(("", {"text": text}) for text in (TEXT, MASKED)),
    ("map", {}),
    ("positions", {"do": "remove"}),
    *(("masks", {"mask_view": view, "mask": "causal"}) for view in ("steps", "change", "ways")),
    *(("writing", {"written": "900.14000.7", "writing_view": view}) for view in ("steps", "beams")),
]
"""Page and its address."""


def model_of(name):
    """Return a model of `ARCHITECTURES` that knows `WORDS`."""
    pairs, masks = name == "many-pairs", name == "many-masked"
    tokenizer = Tokenizer.train(WORDS, len(WORDS) + 5, markers=not pairs, mask=masks)
    target = Tokenizer.train(WORDS, len(WORDS) + 4, markers=True) if pairs else None
    sizes = {"d_model": 6, "num_layers": 2, "num_heads": 2, "ffn_dim": 7, "dropout": 0.0, "max_len": 31}
    if target is not None:
        sizes |= {"target_vocab_size": target.vocab_size, "target_max_len": 9}
    config = TransformerConfig(vocab_size=tokenizer.vocab_size, **sizes, **ARCHITECTURES[name])
    return Explorer(with_random_parameters(config), tokenizer, target_tokenizer=target, name=name)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def reader(request, models_folder):
    reader = model_of(request.param)
    write(reader, models_folder)
    yield reader
    shutil.rmtree(models_folder / request.param)


def numbers(text, kind=np.float32):
    return np.frombuffer(base64.b64decode(text), kind)


def texts_of(reader):
    return [TEXT, MASKED] if reader.config.fills_in else [TEXT]


def test_the_likeliest_tokens_have_the_numbers_of_the_whole_trace(reader):
    for text in texts_of(reader):
        whole = reader.trace(text)
        found = with_top_tokens(whole)
        assert isinstance(found.probs, TopTokens)
        for kept, array in ((found.probs, whole.probs), (found.logits, whole.logits)):
            assert (kept.shape, kept.ndim, len(kept)) == (array.shape, array.ndim, len(array))
            assert_array_equal(kept.argmax(axis=-1), array.argmax(axis=-1))
            assert_array_equal(kept.max(axis=-1), array.max(axis=-1))
            for row, its in zip(kept, array, strict=True):
                order = np.argsort(-its, kind="stable")[:KEPT]
                assert_array_equal(np.argsort(-row, kind="stable")[:KEPT], order)
                assert_array_equal(row[order], its[order])
        assert_array_equal(found.answer_probs, whole.answer_probs)
        assert_array_equal(found.gaps, whole.gaps)
        assert_array_equal(found.probs[whole.gaps], whole.probs[whole.gaps])


def test_the_tokens_of_the_text_are_kept_however_unlikely(reader):
    whole = reader.trace(TEXT)
    found = with_top_tokens(whole)
    ids = whole.target_ids if reader.target_tokenizer else whole.token_ids
    rows = np.arange(len(ids) - 1)
    for own in (ids[:-1], ids[1:]):
        assert_array_equal(found.probs[:][rows, own], whole.probs[rows, own])
        assert_array_equal(found.logits[:][rows, own], whole.logits[rows, own])


def test_the_others_share_the_rest(reader):
    found = with_top_tokens(reader.trace(TEXT))
    assert_allclose(np.asarray(found.probs).sum(axis=-1), 1, atol=1e-5)
    for row in range(len(found.probs)):
        kept = found.probs.ids[row]
        assert_allclose(softmax(found.logits[row])[kept], found.probs[row][kept], rtol=1e-4)


def test_small_vocabularies_and_classes_stay_whole(writer, small_model, reader):
    trace = writer.trace("A lovely film")
    assert with_top_tokens(trace) is trace
    assert is_whole(trace)
    assert not is_whole(with_top_tokens(reader.trace(TEXT)))


def test_a_small_part_of_it_leaves_the_engine(reader, engine):
    target = " ".join(WORDS[5:11]) if reader.target_tokenizer else None
    request = reader.request(TEXT, target=target)
    whole, found = reader.run(request), engine.answer(request)
    assert found.labels == whole.labels
    assert engine.answer(request).labels is found.labels, "sent once"

    sent, all_of_it = (len(pickle.dumps((each.probs, each.logits))) for each in (found, whole))
    rows = len(whole.probs)
    assert all_of_it > 8 * rows * len(WORDS)
    assert sent < 4 * 4 * len(WORDS) + 20 * rows * KEPT
    assert engine.whole_trace(request).labels == whole.labels
    assert_array_equal(engine.whole_trace(request).probs, whole.probs)


def test_an_answer_has_its_exact_log_odds_in_a_comparison(reader):
    if reader.target_tokenizer:
        pytest.skip("it answers with a text")
    a, b = reader.trace(TEXT), reader.trace(TEXT, positions="none")
    expected = compare(a, b).answer()
    assert compare(with_top_tokens(a), with_top_tokens(b)).answer() == expected
    assert expected.before != expected.after


@pytest.mark.parametrize(("page", "address"), PAGES, ids=str)
def test_every_page_shows_it(reader, engine, page, address):
    app = open_page(page, **{"model": reader.name, "text": TEXT} | address)
    assert not app.error


def test_each_step_of_a_written_text_has_the_whole_distribution(reader, engine):
    if reader.config.fills_in:
        pytest.skip("it writes nothing")
    written = (900, 14000, 7)
    for step in range(4):
        app = open_page("writing", model=reader.name, text=TEXT, written=f"900.14000.7-{step}")
        [found] = [
            each for each in app.get("bidi_component") if each.proto.component_name.endswith("writing")
        ]
        shown = json.loads(found.proto.json)
        if reader.target_tokenizer:
            trace = reader.trace(TEXT, target=written[:step])
        else:
            trace = reader.trace([*reader.trace(TEXT).token_ids[1:], *written[:step]])
        probs = trace.probs[-1].astype(float)
        probs[[0, 2]] = 0  # [PAD] and [START] are never written
        order = np.argsort(-probs, kind="stable")
        assert_array_equal(numbers(shown["ids"], np.int32)[:KEPT], order[:KEPT])
        assert_allclose(np.exp(numbers(shown["ranked"])[:-2]), probs[order][:-2], rtol=1e-3)
        chips = zip(shown["chips"], written, trace.probs[-1 - step :], strict=False)
        for number, (chip, token, row) in enumerate(chips):
            rank = 1 + int((np.delete(row, (0, 2)) > row[token]).sum())
            assert_allclose(chip["share"], row[token], rtol=1e-3)
            assert chip["rank"] == (str(rank) if rank <= KEPT or number == step else f"> {KEPT}")


def test_a_downloaded_trace_has_the_whole_vocabulary(reader, engine, tmp_path):
    request = reader.request(TEXT)
    path = tmp_path / "trace.npz"
    path.write_bytes(npz_of(whole_answer(request)))
    assert_array_equal(Trace.load(path).probs, reader.run(request).probs)
    assert not is_whole(engine.answer(request))
