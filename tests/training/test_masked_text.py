"""Running text with gaps: an encoder fills in what is hidden from it, anew in every epoch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_models import with_random_parameters

from transformer_viz.data.cloze import mask_tokens
from transformer_viz.data.packing import Stream
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import MASK_ID, PAD_ID, START_ID
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.evaluation.perplexity import evaluate_masked_tokens
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.job import run_job
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.running_text import MaskedText
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

LENGTH = 16
CONFIG = PRESETS["bert-mini"].replace(
    vocab_size=300, max_len=LENGTH, d_model=16, num_layers=2, num_heads=2, ffn_dim=16
)
SETTINGS = TrainingSettings(pack=True, batch_size=4, validation=0.2)
LINES = [f"Film {i} was " + "very " * (i % 23) + f"good, said reviewer {i * 7 % 40}." for i in range(60)]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(LINES), encoding="utf-8")
    return tmp_path / "texts.txt"


@pytest.fixture
def dataset(path):
    return MaskedText(a_job(path))


def a_job(path, **options):
    parts = {"config": CONFIG, "settings": SETTINGS, "data": path, "tokens": "bpe", "keep_case": True}
    return TrainingJob(**parts | options)


def test_the_gaps_are_others_in_every_epoch_and_the_same_whenever_an_epoch_is_asked_for(dataset):
    def hidden(epoch):
        batches = list(dataset.batches(SETTINGS, epoch))
        return np.concatenate([inputs["token_ids"] for inputs, _ in batches]), batches

    (first, _), (again, _), (other, _) = hidden(0), hidden(0), hidden(1)
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    inputs, targets = hidden(0)[1][0]
    assert inputs["output_positions"].shape == targets.shape
    assert ((inputs["token_ids"] == START_ID) >= (inputs["token_ids"] == MASK_ID)).any()


def test_the_rows_held_out_have_the_same_gaps_after_every_epoch(dataset):
    first, again = list(dataset.validation_batches(SETTINGS)), list(dataset.validation_batches(SETTINGS))
    for one, two in zip(first, again, strict=True):
        assert_array_equal(one[0]["token_ids"], two[0]["token_ids"])
        assert_array_equal(one[1], two[1])


def test_the_loss_is_of_the_gaps_alone(dataset):
    inputs, targets = next(iter(dataset.batches(SETTINGS, 0)))
    measured = ModelTrainer(dataset, SETTINGS).train(inputs, targets, 0.001)
    assert measured["loss"][1] == (targets != PAD_ID).sum() > 0
    assert measured["tokens"][0] == (inputs["token_ids"] != PAD_ID).sum()


def test_logits_of_some_positions_are_those_of_all(dataset):
    model = with_random_parameters(dataset.config)
    inputs, _ = next(iter(dataset.batches(SETTINGS, 0)))
    places = inputs.pop("output_positions")
    every, some = np.asarray(model(inputs)), np.asarray(model(inputs | {"output_positions": places}))
    assert every.shape == (4, LENGTH, dataset.config.vocab_size)
    assert_allclose(some, np.take_along_axis(every, places[..., None], axis=1), rtol=1e-5, atol=1e-5)


def test_a_text_in_a_packed_row_is_filled_in_as_if_it_stood_alone(dataset):
    model = with_random_parameters(dataset.config)
    stream = Stream(dataset._train, LENGTH)
    rows = stream.rows(range(len(stream)))
    packed, compared = np.asarray(model(rows.inputs(dataset.config))), 0
    for row, numbers in enumerate(rows.texts):
        for number in np.unique(numbers):
            own = numbers == number
            ids = rows.token_ids[row, own]
            if PAD_ID not in ids and len(ids) > 1:  # Keras warns of a softmax over one key
                assert_allclose(packed[row, own], np.asarray(model(ids[None]))[0], rtol=1e-5, atol=1e-5)
                compared += 1
    assert compared > len(stream)


@pytest.fixture
def filler(dataset):
    tokenizer = Tokenizer.from_json(dataset.tokenizers["tokenizer"])
    return Explorer(with_random_parameters(dataset.config), tokenizer, name="filler")


def test_figures_on_texts_are_of_what_was_hidden(filler):
    """The same gaps by hand, each text as far as it is in one row."""
    texts = LINES[:7]
    ids = filler.tokenizer.encode_batch(texts, max_len=1000)
    stream = Stream(ids, LENGTH)
    rows = stream.rows(range(len(stream)))
    cloze = mask_tokens(rows.token_ids, filler.config, np.random.default_rng(0))
    logits = np.asarray(filler.model(rows._replace(token_ids=cloze.token_ids).inputs(filler.config)))
    log_probs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    real = cloze.targets != PAD_ID
    row, place, answer = np.nonzero(real)[0], cloze.positions[real], cloze.targets[real]
    result = evaluate_masked_tokens(filler, texts, batch_size=len(stream))
    assert (result.texts, result.tokens) == (7, real.sum())
    assert_allclose(result.perplexity, np.exp(-log_probs[row, place, answer].mean()), rtol=1e-4)
    assert_allclose(result.token_accuracy, (logits[row, place].argmax(axis=-1) == answer).mean())
    events = np.concatenate([[*text, 3] for text in ids])
    assert_array_equal(events[result.places], answer)


def test_what_is_filled_in_is_what_the_trace_says(filler):
    text = "Film [MASK] was very good, said [MASK]."
    found, trace = filler.fill_in(text, likeliest=3), filler.trace(text)
    places = np.flatnonzero(trace.token_ids == MASK_ID)
    assert list(found["position"]) == [place for place in places for _ in range(3)]
    first = found.iloc[0]
    assert first["token"] == trace.labels[trace.probs[places[0]].argmax()]
    assert_allclose(first["probability"], trace.probs[places[0]].max(), rtol=1e-6)
    assert (trace.tokens[0], trace.probs.shape) == ("[START]", (len(trace.tokens), filler.config.vocab_size))


def test_the_effect_of_a_head_is_that_on_the_gaps(filler):
    text = "Film [MASK] was very good, said [MASK]."
    whole = filler.trace(text)
    without = filler.trace(text, ablate=[(1, 0)])
    best = whole.probs[whole.gaps].argmax(axis=-1)
    lost = whole.probs[whole.gaps, best] - without.probs[whole.gaps, best]
    assert_allclose(head_effects(filler, text)["encoder"][1, 0], lost.mean(), rtol=1e-5)


def test_what_cannot_be_filled_in_is_a_sentence(filler, explorer):
    with pytest.raises(
        ValueError, match=r"The text has no \[MASK\]\. Put one where a token is to be filled in"
    ):
        filler.fill_in("Film 3 was good.")
    with pytest.raises(ValueError, match=r"small does not fill in \[MASK\]\."):
        explorer.fill_in("[MASK]")
    with pytest.raises(ValueError, match=r"filler predicts tokens, not classes\."):
        filler.predict(["Film 3 was good."])


def test_a_tokenizer_without_a_mask_is_refused(filler):
    tokenizer = Tokenizer.train(LINES, 300, markers=True)
    with pytest.raises(ValueError, match=r"needs \[START\], \[END\] and \[MASK\] as tokens 2 to 4\."):
        Explorer(filler.model, tokenizer)


def test_a_job_learns_to_fill_in_and_says_how_well(path, tmp_path):
    settings = TrainingSettings(pack=True, batch_size=4, validation=0.2, epochs=12, learning_rate=0.01)
    unseen = [line.replace("Film", "The film") for line in LINES]
    (tmp_path / "test.txt").write_text("\n".join(unseen), encoding="utf-8")
    files = {"test": tmp_path / "test.txt", "out": tmp_path / "m"}
    job = a_job(path, settings=settings, probes=("Film 3 was very [MASK].",), **files)
    samples = []
    card = run_job(job, watch=lambda event: samples.append(event.get("samples")))
    assert card["task"] == "hidden tokens"
    measured, explorer = card["test"], load(tmp_path / "m")
    result = evaluate_masked_tokens(explorer, unseen)
    assert measured["tokens"] == result.tokens
    assert_allclose(measured["perplexity"], result.perplexity, rtol=1e-6)
    assert measured["perplexity"] < measured["baselines"]["unigram"]["perplexity"]
    assert card["validation"]["perplexity"] == card["history"][card["best_epoch"] - 1]["val_perplexity"]
    last = next(found for found in reversed(samples) if found)
    assert "[MASK]" not in last[0]["written"]
    assert last[0]["written"].startswith("Film 3 was very")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "A model with `output` = 'tokens' learns from running text: set `pack`."),
        (
            {"pack": True, "word_dropout": 0.1},
            "`output` = 'tokens' hides tokens by itself. Leave `word_dropout` at 0.",
        ),
    ],
)
def test_what_does_not_go_together_is_a_sentence(path, settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        a_job(path, settings=TrainingSettings(**settings))
    assert str(error.value) == message
