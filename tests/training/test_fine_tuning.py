"""A fine-tuned model begins with its parent's parameters, and has its tokenizer."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz import store
from transformer_viz.network.config import START_ID
from transformer_viz.network.fine_tuning import child_config, trained_parameters
from transformer_viz.network.presets import PRESETS
from transformer_viz.store.load import load
from transformer_viz.training.job import run_job, work
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

TEXTS = [
    f"The {word} film number {i} was {'very ' * (i % 5)}{word}."
    for i in range(30)
    for word in ("good", "dull")
]
LABELS = [("fine" if "good" in text else "poor") for text in TEXTS]
SIZES = {"d_model": 16, "num_heads": 2, "ffn_dim": 12, "max_len": 16, "vocab_size": 90, "dropout": 0.0}
ONE_EPOCH = TrainingSettings(epochs=1, batch_size=8, learning_rate=0.01)
PACKED = TrainingSettings(epochs=1, batch_size=8, learning_rate=0.01, pack=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fine-tuning")


@pytest.fixture(scope="module")
def texts(place):
    path = place / "texts.txt"
    path.write_text("\n".join(TEXTS))
    return path


@pytest.fixture(scope="module")
def reviews(place):
    path = place / "reviews.csv"
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("\n".join(["text,label", *rows]))
    return path


@pytest.fixture(scope="module")
def decoder(place, texts):
    config = PRESETS["gpt-mini"].replace(num_layers=3, **SIZES)
    out = place / "decoder"
    run_job(
        TrainingJob(config=config, settings=PACKED, data=texts, tokens="bpe", out=out), runs=place / "runs"
    )
    return out


def classifier_job(parent, data, *, settings=ONE_EPOCH, changes=None, **parts):
    config = child_config(store.read_config(parent), classifies=True, **changes or {})
    return TrainingJob(config=config, settings=settings, data=data, parent=parent, **parts)


def parameters_of(folder):
    return store.read_model(folder).parameters


def test_a_classifier_begins_with_the_hidden_states_of_its_language_model(decoder, reviews, tmp_path):
    settings = TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-30, schedule="constant")
    run_job(classifier_job(decoder, reviews, settings=settings, out=tmp_path / "child"), runs=tmp_path)
    parent, child = load(decoder), load(tmp_path / "child")
    for text in (TEXTS[7], "a film"):
        before, after = parent.trace(text), child.trace(text)
        assert before.token_ids[0] == START_ID
        assert before.tokens == after.tokens
        for one, other in zip(before.decoder, after.encoder, strict=True):
            assert_allclose(other.resid_post, one.resid_post, atol=1e-6)
    assert child.config.labels == ("fine", "poor")
    assert child.predict([TEXTS[7]]).iloc[0, 2] == pytest.approx(child.trace(TEXTS[7]).probs[0], abs=1e-6)


def test_every_text_of_a_classifier_begins_as_those_of_its_parent(decoder, reviews):
    settings = TrainingSettings(batch_size=8, crop=0.7, word_dropout=0.3)
    job = classifier_job(
        decoder, reviews, settings=settings, changes={"truncation": "beginning", "max_len": 9}
    )
    dataset = LabelledTexts(job, store.read_model(decoder))
    batches = [*dataset.batches(settings, 0), *dataset.validation_batches(settings)]
    widths = {ids.shape[1] for ids, _ in batches}
    assert max(widths) == 9
    for ids, _ in batches:
        assert (ids[:, 0] == START_ID).all()
        assert (ids[:, 1:] != START_ID).all()


def test_a_masked_language_model_becomes_a_classifier(place, texts, reviews, tmp_path):
    config = PRESETS["bert-mini"].replace(num_layers=1, **SIZES)
    run_job(TrainingJob(config=config, settings=PACKED, data=texts, out=tmp_path / "parent"), runs=tmp_path)
    settings = TrainingSettings(epochs=12, batch_size=8, learning_rate=0.01, crop=0.2, word_dropout=0.05)
    job = classifier_job(
        tmp_path / "parent", reviews, settings=settings, test=reviews, out=tmp_path / "child"
    )
    card = run_job(job, runs=tmp_path)
    assert card["test"]["accuracy"] > 0.9
    child = load(tmp_path / "child")
    assert child.trace("a film").tokens[0] == "[START]"
    assert child.tokenizer.to_json() == load(tmp_path / "parent").tokenizer.to_json()


def test_a_decoder_becomes_a_masked_language_model_that_reads_both_sides(decoder, texts, tmp_path):
    config = child_config(store.read_config(decoder), classifies=False, output="tokens")
    settings = TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-30, schedule="constant", pack=True)
    run_job(
        TrainingJob(config=config, settings=settings, data=texts, parent=decoder, out=tmp_path / "child"),
        runs=tmp_path,
    )
    child, before = load(tmp_path / "child"), load(decoder)
    text = TEXTS[7]
    read, known = child.trace(f"{text} [MASK]"), before.trace(text)
    assert read.tokens == (*known.tokens, "[MASK]")
    assert_allclose(read.encoder[0].resid_pre[:-1], known.decoder[0].resid_pre, atol=1e-6)
    future = np.triu(read.encoder[0].attention.weights, 1)
    assert (future.sum(axis=(1, 2)) > 0.1).all()


def test_a_language_model_goes_on_with_other_texts_where_it_ended(decoder, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("\n".join(text.replace("film", "play") for text in TEXTS))
    parent, events = store.read_model(decoder), []
    config = child_config(parent.config, classifies=False)
    run_job(
        TrainingJob(config=config, settings=PACKED, data=other, parent=decoder, out=tmp_path / "child"),
        runs=tmp_path,
        watch=events.append,
    )
    child = store.read_model(tmp_path / "child")
    assert child.tokenizer == parent.tokenizer
    first = next(event["loss"] for event in events if event["event"] == "step")
    assert first < parent.card["history"][0]["loss"]
    assert not np.array_equal(child.parameters["decoder_0/ffn/hidden/bias"], 0)


def test_an_encoder_decoder_goes_on_with_both_tokenizers(tmp_path):
    config = PRESETS["vaswani-tiny"].replace(d_model=16, num_layers=1, num_heads=2, ffn_dim=16)
    run_job(
        TrainingJob(config=config, settings=ONE_EPOCH, data="copy", rows=200, out=tmp_path / "parent"),
        runs=tmp_path,
    )
    parent = store.read_model(tmp_path / "parent")
    job = TrainingJob(
        config=child_config(parent.config, classifies=False),
        settings=ONE_EPOCH,
        data="reverse",
        rows=200,
        parent=tmp_path / "parent",
        trainable_layers=1,
        out=tmp_path / "child",
    )
    run_job(job, runs=tmp_path)
    child = store.read_model(tmp_path / "child")
    assert (child.tokenizer, child.target_tokenizer) == (parent.tokenizer, parent.target_tokenizer)
    same = {
        name for name, value in child.parameters.items() if np.array_equal(value, parent.parameters[name])
    }
    assert {name.partition("/")[0] for name in same} == {"token_embedding", "encoder_0"}


@pytest.mark.quick("1")
@pytest.mark.parametrize("layers", [0, 1])
def test_frozen_layers_stay_equal_to_the_bit(decoder, reviews, tmp_path, layers):
    settings = TrainingSettings(epochs=2, batch_size=8, learning_rate=0.01, weight_decay=0.1, average=0.9)
    run = create_run(
        classifier_job(decoder, reviews, settings=settings, trainable_layers=layers), folder=tmp_path
    )
    work(run)
    assert run.state().status == "finished"
    child, parent = store.read_model(run.model), parameters_of(decoder)
    trained = trained_parameters(child.config, layers)
    for name, value in child.parameters.items():
        source = name.replace("attention", "self_attention").replace("encoder", "decoder")
        if name not in trained:
            assert_array_equal(value, parent[source])
        elif source in parent:
            assert not np.array_equal(value, parent[source])
    assert len(child.parameters) - len(trained) == {0: 2 + 3 * 16 + 2, 1: 2 + 2 * 16}[layers]


@pytest.mark.thorough
def test_a_run_ends_with_the_same_bits_although_its_parent_is_deleted(decoder, reviews, tmp_path):
    shutil.copytree(decoder, tmp_path / "gone")
    settings = TrainingSettings(epochs=3, batch_size=8, learning_rate=0.01)
    job = classifier_job(tmp_path / "gone", reviews, settings=settings, trainable_layers=1)
    whole, stopped, late = (create_run(job, folder=tmp_path / name) for name in ("whole", "stopped", "late"))
    work(whole)
    work(stopped, watch=lambda event: stopped.stop() if event["event"] == "epoch" else None)
    assert (stopped.state().status, stopped.state().step) == ("stopped", whole.state().step // 3)
    shutil.rmtree(tmp_path / "gone")
    stopped.queue()
    for run in (stopped, late):
        work(run)
        assert run.state().status == "finished"
        for name, value in parameters_of(whole.model).items():
            assert_array_equal(parameters_of(run.model)[name], value)


def test_the_card_names_the_parent(decoder, reviews, tmp_path):
    card = run_job(classifier_job(decoder, reviews, trainable_layers=2), runs=tmp_path)
    assert card["parent"] == {
        "name": "decoder",
        "sha256": store.read_hash(decoder),
        "trainable_layers": 2,
    }


@pytest.mark.thorough
def test_the_loss_before_the_first_step_is_that_of_the_parent_although_averages_are_kept(
    decoder, texts, tmp_path
):
    config = child_config(store.read_config(decoder), classifies=False)
    losses = []
    for average in (0.0, 0.9):
        events, settings = [], TrainingSettings(epochs=1, batch_size=8, pack=True, average=average)
        run_job(
            TrainingJob(config=config, settings=settings, data=texts, parent=decoder),
            runs=tmp_path,
            watch=events.append,
        )
        losses.append(next(event["loss"] for event in events if event["event"] == "step"))
    assert losses[0] == losses[1]


def test_a_parent_that_does_not_fit_is_refused_before_a_run_is_made(decoder, reviews, tmp_path):
    job = classifier_job(decoder, reviews)
    other = job.config.replace(num_layers=2)
    for parent, config, message in (
        (
            decoder,
            other,
            "The model to start from cannot be used. The parameters of the parent fix 'num_layers'",
        ),
        (tmp_path / "none", job.config, "The model to start from cannot be used. There is no model"),
    ):
        with pytest.raises(RunError) as error:
            create_run(
                TrainingJob(config=config, settings=ONE_EPOCH, data=reviews, parent=str(parent)),
                folder=tmp_path / "runs",
            )
        assert str(error.value).startswith(message)
    assert not (tmp_path / "runs").exists()
