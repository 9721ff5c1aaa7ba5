"""Classifiers fine-tuned from folders of the hub, of each family."""

import dataclasses
import os
import shutil
import subprocess

import numpy as np
import psutil
import pytest
from mapped_back import write_back
from numpy.testing import assert_allclose, assert_array_equal
from recorded import HERE

from transformer_viz import store
from transformer_viz.language import Problem
from transformer_viz.network.config import NO_ID
from transformer_viz.network.fine_tuning import alike_groups, child_config
from transformer_viz.questions.evaluation.predictions import predict_file
from transformer_viz.store.load import load
from transformer_viz.training.job import run_job, work
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

TEXTS = [f"the {word} film was {word} {i % 7}" for i in range(20) for word in ("good", "bad")]
MASKED = (
    "bert-masked",
    "roberta",
    "xlm-roberta",
    "distilbert",
    "albert",
    "electra-small",
    "modernbert-masked",
)
WRITERS = ("gpt2", "qwen2", "llama", "gpt-neox", "gemma3")
CLASSES = ("bert", "roberta", "distilbert", "albert", "electra", "gpt2", "qwen3")
TORCH = os.environ.get("TORCH")
BARELY = TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-30, schedule="constant")
QUICK = TrainingSettings(epochs=2, batch_size=8, learning_rate=0.003, crop=0.3, word_dropout=0.1)


@pytest.fixture
def reviews(tmp_path):
    file = tmp_path / "reviews.csv"
    file.write_text(
        "\n".join(["text,label", *(f"{text},{'fine' if 'good' in text else 'poor'}" for text in TEXTS)])
    )
    return file


def folder_of(name):
    return HERE / "models" / name


def job_from(name, data, *, settings=QUICK, layers=None, **parts):
    config = child_config(store.read_config(folder_of(name)), classifies=True, max_len=24)
    parts |= {"config": config, "settings": settings, "trainable_layers": layers}
    return TrainingJob(data=data, parent=folder_of(name), **parts)


def bias_left_out(model):
    """Return the bias of a classifier's outputs, where its family has none: if it reads the last token."""
    stored = store.read_model(model)
    return stored.parameters["classifier/bias"] if stored.config.pooling == "last" else 0.0


def trained(job, runs):
    """Train a model; return its folder, in float32."""
    run = create_run(job, folder=runs)
    work(run)
    assert run.state().problem is None
    return run.model


@pytest.mark.parametrize("name", [*MASKED, *WRITERS, "bert", "mpnet"])
def test_it_begins_with_the_hidden_states_of_its_parent(name, reviews, tmp_path):
    child = load(trained(job_from(name, reviews, settings=BARELY), tmp_path))
    parent = load(folder_of(name))
    before, after = parent.trace(TEXTS[3]), child.trace(TEXTS[3])
    assert after.tokens == before.tokens
    assert after.labels == ("fine", "poor")
    assert_allclose(after.probs.sum(), 1, atol=1e-6)
    for one, other in zip(before.encoder or before.decoder, after.encoder, strict=True):
        assert_allclose(other.resid_post, one.resid_post, atol=1e-5)
        kind = one.attention if before.encoder else one.self_attention
        assert_allclose(other.attention.weights, kind.weights, atol=1e-6)


@pytest.mark.parametrize("name", [f"{name}-classes" for name in CLASSES])
def test_what_was_trained_is_a_model_of_its_family_again(name, reviews, tmp_path):
    model = trained(job_from(name, reviews), tmp_path)
    child, again = load(model), load(write_back(model, folder_of(name), tmp_path / "again"))
    before = load(folder_of(name)).trace(TEXTS[3]).encoder[-1].resid_post
    ours, theirs = child.trace(TEXTS[3]), again.trace(TEXTS[3])
    assert np.abs(ours.encoder[-1].resid_post - before).max() > 1e-3
    assert_allclose(theirs.encoder[-1].resid_post, ours.encoder[-1].resid_post, atol=1e-5)
    assert_allclose(theirs.logits, ours.logits - bias_left_out(model), atol=1e-5)


@pytest.mark.skipif(not TORCH, reason="TORCH names no Python with torch and transformers")
@pytest.mark.parametrize("name", [f"{name}-classes" for name in CLASSES])
def test_transformers_answers_as_what_was_trained(name, reviews, tmp_path):
    model = trained(job_from(name, reviews), tmp_path)
    again = write_back(model, folder_of(name), tmp_path / "again")
    script = HERE / "answers_of.py"
    subprocess.run([TORCH, script, again, tmp_path / "answers.npz", TEXTS[3], ""], check=True)
    ours, theirs = load(model).trace(TEXTS[3]), np.load(tmp_path / "answers.npz")
    assert_array_equal(ours.token_ids, theirs["ids"])
    assert_allclose([layer.attention.weights for layer in ours.encoder], theirs["attentions"], atol=1e-5)
    assert_allclose(ours.logits - bias_left_out(model), theirs["logits"], atol=1e-5)


def test_the_pooler_of_a_bert_is_inherited(reviews, tmp_path):
    parent = store.read_model(folder_of("bert"))
    assert {name for name in parent.parameters if name.startswith("pooled")} == {
        "pooled/kernel",
        "pooled/bias",
    }
    child = store.read_model(trained(job_from("bert", reviews, settings=BARELY), tmp_path))
    assert (child.config.pooling, child.config.pooled_activation) == ("first", "tanh")
    assert_array_equal(child.parameters["pooled/kernel"], parent.parameters["pooled/kernel"])
    assert "classifier/kernel" not in parent.parameters


def test_pairs_with_a_label_have_segments_of_their_own(tmp_path):
    file = tmp_path / "pairs.csv"
    pairs = [
        (f"the film {i}", f"the {word} film", label)
        for i in range(20)
        for word, label in (("good", "same"), ("bad", "other"))
    ]
    file.write_text("\n".join(["text_a,text_b,label", *map(",".join, pairs)]))
    run = create_run(job_from("bert", file, settings=QUICK), folder=tmp_path)
    work(run)
    assert run.state().problem is None
    model, asked = load(run.model), "the film [SEP] the good film"
    trace = model.trace(asked)
    assert [token for token in trace.tokens if token == "[SEP]"] == ["[SEP]"] * 2
    second = trace.tokens.index("[SEP]") + 1
    segments = np.asarray(model.model.segment_embedding.embeddings)
    expected = segments[[0] * second + [1] * (len(trace.tokens) - second)]
    assert_allclose(trace.values.segment_embedding, expected, atol=1e-6)
    found = predict_file(model, file, tmp_path / "predicted.csv")
    assert found.rows == 40


def test_a_batch_is_padded_beyond_the_vocabulary_and_keeps_what_stands_around_a_text(reviews):
    settings = TrainingSettings(batch_size=8, crop=0.9, word_dropout=0.5)
    parent = store.read_model(folder_of("roberta"))
    dataset, config = LabelledTexts(job_from("roberta", reviews, settings=settings), parent), parent.config
    for ids, _ in [*dataset.batches(settings, 0), *dataset.validation_batches(settings)]:
        assert (ids[:, 0] == config.start_id).all()
        last = [row[row != NO_ID][-1] for row in ids]
        assert set(last) == {config.end_id}
    assert any((ids == NO_ID).any() for ids, _ in dataset.batches(settings, 0))


@pytest.mark.parametrize("layers", [None, 0, 1])
def test_the_blocks_of_an_albert_stay_one(layers, reviews, tmp_path):
    child = store.read_model(trained(job_from("albert", reviews, layers=layers), tmp_path))
    parent = store.read_model(folder_of("albert"))
    for first, *others in alike_groups(child.config):
        for other in others:
            is_same = np.array_equal(child.parameters[first], child.parameters[other])
            assert is_same == (layers != 1), other
        assert np.array_equal(child.parameters[first], parent.parameters[first]) == (layers is not None)


def test_the_head_alone_is_trained(reviews, tmp_path):
    child = store.read_model(trained(job_from("bert", reviews, layers=0), tmp_path))
    parent = store.read_model(folder_of("bert"))
    shapes = child.config.parameter_shapes()
    changed = {
        name
        for name, array in parent.parameters.items()
        if not np.array_equal(child.parameters[name], array[: shapes[name][0]])
    }
    assert changed == {"pooled/kernel", "pooled/bias"}


def test_lower_layers_learn_more_slowly(reviews, tmp_path):
    def moved(settings):
        child = store.read_model(trained(job_from("bert", reviews, settings=settings), tmp_path))
        parent = store.read_model(folder_of("bert"))
        names = [f"encoder_{layer}/ffn/hidden/bias" for layer in (0, 1)]
        return [np.abs(child.parameters[name] - parent.parameters[name]).mean() for name in names]

    plain = TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-3)
    same, decayed = (
        moved(plain),
        moved(TrainingSettings(epochs=1, batch_size=8, learning_rate=1e-3, layer_decay=0.1)),
    )
    assert decayed[0] / decayed[1] < 0.3 * same[0] / same[1]


def test_a_stopped_run_resumes_to_the_same_parameters(reviews, tmp_path):
    whole = create_run(job_from("albert", reviews), folder=tmp_path / "whole")
    work(whole)
    parts = create_run(job_from("albert", reviews), folder=tmp_path / "parts")
    work(parts, watch=lambda event: parts.stop() if event.get("step") == 6 else None)
    assert parts.status == "stopped"
    parts.queue()
    work(parts)
    one, other = (store.read_model(run.model).parameters for run in (whole, parts))
    for name, array in one.items():
        assert_array_equal(other[name], array)


def test_what_it_knows_before_training_stands_in_the_log(reviews, tmp_path):
    run = create_run(job_from("bert", reviews), folder=tmp_path)
    work(run)
    assert 0 <= run.state().untrained["val_accuracy"] <= 1
    assert run.kept_epochs()[:2] == [0, 1]


def test_the_card_names_the_model_of_the_hub(reviews, tmp_path):
    cached = tmp_path / "hub" / "models--google-bert--bert-base-chinese" / "snapshots" / "8f23c25b06e1"
    shutil.copytree(folder_of("bert"), cached)
    job = job_from("bert", reviews, settings=BARELY, out=tmp_path / "child")
    card = run_job(dataclasses.replace(job, parent=cached), runs=tmp_path / "runs")
    assert card["parent"]["name"] == "google-bert/bert-base-chinese"
    assert len(card["parent"]["sha256"]) == 64


def test_a_model_of_the_hub_becomes_nothing_but_a_classifier():
    for name in ("gpt2", "bert-masked", "t5"):
        with pytest.raises(Problem, match=r"only be fine-tuned to classify|encoder-decoder cannot"):
            child_config(store.read_config(folder_of(name)), classifies=name == "t5")


def test_a_model_larger_than_memory_is_refused_before_it_is_built(reviews, tmp_path, monkeypatch):
    memory = psutil.virtual_memory()
    run = create_run(job_from("bert", reviews), folder=tmp_path)
    free = iter([memory.available])
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=next(free, 100_000)))
    work(run)
    assert str(run.state().problem).startswith("Training would take about")
