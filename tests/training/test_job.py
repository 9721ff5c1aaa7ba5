import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_models import TYPICAL, labelled_reviews

from transformer_viz import store
from transformer_viz.network.config import PAD_ID
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.evaluation.calibration import calibration_error
from transformer_viz.questions.evaluation.measure import evaluate
from transformer_viz.questions.roles.measure import head_roles, typical_words
from transformer_viz.store.load import load
from transformer_viz.trace.softmax import softmax
from transformer_viz.training import job as job_module
from transformer_viz.training.job import run_job
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

sys.path.append(str(Path(__file__).parents[2] / "models"))

from measure import main as measure

CONFIG = PRESETS["single-block"].replace(d_model=16, num_heads=2, ffn_dim=8)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two kinds of reviews, 120 of each, as a CSV."""
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    lines = [f"a lovely film number {i},good\na dull film number {i},bad" for i in range(120)]
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "reviews"
    settings = TrainingSettings(epochs=8, learning_rate=0.01)
    job = TrainingJob(
        config=CONFIG, settings=settings, data=data, out=out, test=data, label_names={"bad": "thumbs down"}
    )
    return out, run_job(job)


def test_a_job_leaves_a_model_that_has_learned(trained):
    out, card = trained
    assert card["test"]["accuracy"] > 0.95
    assert card["validation"]["accuracy"] > 0.95
    frame = load(out).predict(["a lovely film", "a dull film"])
    assert list(frame.label) == ["good", "thumbs down"]


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Trained on reviews of which one in seven has the wrong label, and tested on others."""
    folder = tmp_path_factory.mktemp("noisy")
    for name, first in (("rows", 0), ("test", 400)):
        lines = [
            f"a {('dull', 'lovely')[(i % 2)]} film number {i},{('bad', 'good')[(i + (i % 7 == 3)) % 2]}"
            for i in range(first, first + 400)
        ]
        (folder / f"{name}.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    settings = TrainingSettings(epochs=12, patience=12, learning_rate=0.02, validation=0.3)
    job = TrainingJob(
        config=CONFIG,
        settings=settings,
        data=folder / "rows.csv",
        test=folder / "test.csv",
        out=folder / "out",
    )
    return job, run_job(job), load(folder / "out")


def test_a_classifier_is_calibrated_on_its_validation_rows(noisy):
    job, card, explorer = noisy
    temperature, logits, labels = explorer.config.temperature, [], []
    for token_ids, right in LabelledTexts(job).validation_batches(job.settings):
        logits.append(explorer.model(token_ids).numpy())
        labels.append(right)
    logits, labels = np.concatenate(logits).astype("f8"), np.concatenate(labels)
    logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)  # one sigmoid

    def loss(temperature):
        shares = np.exp(logits / temperature)
        return -np.log((shares / shares.sum(axis=-1, keepdims=True))[np.arange(len(labels)), labels]).mean()

    assert temperature != 1
    assert loss(temperature) < min(loss(temperature * 1.05), loss(temperature / 1.05), loss(1.0))
    facts = card["calibration"]
    assert (facts["temperature"], facts["rows"]) == (temperature, len(labels))
    probs = softmax(logits)
    assert facts["calibration_error_before"] == pytest.approx(calibration_error(probs, labels), abs=1e-3)
    probs = softmax(logits, temperature)
    assert facts["calibration_error"] == pytest.approx(calibration_error(probs, labels), abs=1e-3)


def test_its_test_is_measured_at_that_temperature(noisy):
    job, card, explorer = noisy
    rows = pd.read_csv(job.test)
    probs = explorer.predict(rows["text"])[["prob_bad", "prob_good"]].to_numpy()
    labels = (rows["label"] == "good").to_numpy(int)
    assert card["test"]["calibration_error"] == pytest.approx(calibration_error(probs, labels), abs=1e-6)
    measured = evaluate(explorer, rows)
    for name in ("accuracy", "uniform_accuracy", "headless_accuracy"):
        assert card["test"][name] == getattr(measured, name)


def test_few_validation_rows_determine_no_temperature(trained):
    out, card = trained
    assert "calibration" not in card
    assert load(out).config.temperature == 1


def test_the_roles_of_its_heads_are_those_in_texts_it_was_not_trained_on(noisy):
    job, _, explorer = noisy
    dataset, kept = LabelledTexts(job), store.read_head_roles(job.out)
    texts = dataset.role_texts
    assert kept.texts == len(texts) == dataset.num_validation == 120
    seen = {tuple(row[row != PAD_ID]) for rows, _ in dataset.batches(job.settings, epoch=0) for row in rows}
    assert seen.isdisjoint(map(tuple, explorer.tokenizer.encode_batch(texts, max_len=64)))
    measured = head_roles(explorer, texts)
    assert list(kept.to_frame()["role"]) == list(measured.to_frame()["role"])
    np.testing.assert_allclose(kept.kinds["encoder"].share, measured.kinds["encoder"].share, atol=2e-3)


def test_what_is_measured_again_is_what_the_training_measured(noisy, tmp_path):
    job, card, explorer = noisy
    stored, unknown = store.read_model(job.out), {"rows": 0}
    parts = {"tokenizer": stored.tokenizer, "parameters": stored.parameters, "folder": tmp_path}
    spoilt = card | {"calibration": unknown, "test": card["test"] | {"calibration_error": 0.9}}
    store.write_model("again", config=stored.config.replace(temperature=9.0), card=spoilt, **parts)
    rows = f"--data {job.data} --test {job.test} --validation 0.3 --preset six-layers-learned"
    measure(f"{rows} --out {tmp_path / 'again'}".split())
    again = store.read_model(tmp_path / "again")
    assert again.card.keys() == card.keys()
    assert again.card["calibration"] == pytest.approx(card["calibration"], rel=2e-2)
    assert again.config.temperature == again.card["calibration"]["temperature"]
    before, after = (each["test"]["calibration_error"] for each in (card, again.card))
    assert after == pytest.approx(before, rel=0.05)
    assert again.head_roles.to_frame()["role"].equals(explorer.head_roles.to_frame()["role"])
    assert again.head_roles.words == explorer.head_roles.words
    for name, value in again.parameters.items():
        np.testing.assert_array_equal(value, stored.parameters[name])


def test_the_words_typical_of_each_label_are_those_of_the_training_texts(tmp_path):
    labelled_reviews(400).to_csv(tmp_path / "rows.csv", index=False)
    job = TrainingJob(
        config=CONFIG,
        settings=TrainingSettings(epochs=1, validation=0.3),
        data=tmp_path / "rows.csv",
        out=tmp_path / "out",
        label_names={"bad": "thumbs down"},
    )
    run_job(job)
    dataset, roles = LabelledTexts(job), store.read_head_roles(job.out)
    assert len(dataset.labelled) == dataset.num_rows
    assert set(dataset.labelled["text"]).isdisjoint(dataset.role_texts)
    assert roles.words == typical_words(load(job.out), dataset.labelled)
    assert {label: set(words) for label, words in roles.words.items()} == {
        "thumbs down": set(TYPICAL["bad"]),
        "good": set(TYPICAL["good"]),
    }
    assert roles.kinds["encoder"].ratio.shape == (1, 2, 2)
    assert not np.isnan(roles.kinds["encoder"].ratio).any()


def test_over_few_texts_roles_are_not_measured(trained):
    out, _ = trained
    assert store.read_head_roles(out) is None


def test_heads_without_a_choice_have_no_roles_and_end_no_training(noisy, tmp_path):
    alone = dataclasses.replace(
        noisy[0],
        config=CONFIG.replace(window=0),
        settings=TrainingSettings(epochs=1, validation=0.3),
        test="",
        out=tmp_path / "out",
    )
    run_job(alone)
    assert store.read_head_roles(alone.out) is None


def test_no_folder_is_made_for_a_model_whose_data_are_not_there(tmp_path):
    settings = TrainingSettings(epochs=1)
    out = tmp_path / "a" / "b" / "c"
    job = TrainingJob(config=CONFIG, settings=settings, data=tmp_path / "no.csv", out=out)
    with pytest.raises(RunError, match=r"no\.csv"):
        run_job(job, runs=tmp_path / "runs")
    assert [place.name for place in tmp_path.iterdir()] == ["runs"]


def test_the_card_says_what_was_done(trained, data):
    out, card = trained
    assert json.loads((out / "card.json").read_text()) == card
    assert card["label_values"] == {"thumbs down": "bad", "good": "good"}
    assert card["data"]["file"] == "reviews.csv"
    assert card["data"]["rows"] == 240
    assert card["settings"]["epochs"] == 8
    assert len(card["history"]) >= card["best_epoch"] >= 1
    assert card["parameters"] == load(out).config.num_parameters
    assert str(data.parent) not in json.dumps(card)


def test_the_vocabulary_is_of_the_training_rows_and_the_labels_of_the_data(trained):
    config = store.read_model(trained[0]).config
    assert config.labels == ("thumbs down", "good")
    assert config.vocab_size < CONFIG.vocab_size


@pytest.mark.parametrize(
    ("precision", "note"),
    [
        ("float32", None),
        ("float16", "On a processor, float16 is slower than float32. Choose float32, or a GPU."),
    ],
)
def test_a_precision_that_gains_nothing_is_said_once(data, tmp_path, monkeypatch, precision, note):
    monkeypatch.setattr(job_module, "gpus", lambda: [])
    settings = TrainingSettings(epochs=2, precision=precision)
    events = []
    run_job(TrainingJob(config=CONFIG, settings=settings, data=data), runs=tmp_path, watch=events.append)
    said = [event.get("note") for event in events if event["event"] == "data"]
    assert said == [note]
    assert [event for event in events if "note" in event and event["event"] != "data"] == []


def test_a_taken_name_is_refused_before_anything_is_trained(trained, data):
    job = TrainingJob(config=CONFIG, settings=TrainingSettings(), data=data, out=trained[0])
    with pytest.raises(RunError, match="exists already"):
        run_job(job)


def test_a_model_too_large_to_be_opened_is_refused_before_anything_is_trained(data, tmp_path):
    job = TrainingJob(
        config=CONFIG.replace(max_len=10**6), settings=TrainingSettings(), data=data, out=tmp_path / "m"
    )
    with pytest.raises(RunError, match=r"`max_len` = 1,000,000 is too large\. Choose at most 16,384\."):
        run_job(job)


def test_a_label_that_is_not_in_the_data_cannot_be_named(data, tmp_path):
    job = TrainingJob(
        config=CONFIG, settings=TrainingSettings(), data=data, out=tmp_path / "m", label_names={"x": "y"}
    )
    with pytest.raises(RunError, match=r"The data have no label 'x' to be named 'y'\. Labels: bad, good\."):
        run_job(job)


def test_the_first_loss_is_that_of_the_untrained_model(data, tmp_path):
    events = []
    config = CONFIG.replace(dropout=0.0, embedding_dropout=0.0)  # so that the first step computes it as well
    job = TrainingJob(config=config, settings=TrainingSettings(epochs=1), data=data)
    run_job(job, runs=tmp_path, watch=events.append)
    untrained, first = [event for event in events if event["event"] == "step"][:2]
    assert (untrained["step"], first["step"]) == (0, 1)
    assert untrained["loss"] == pytest.approx(first["loss"], rel=1e-5)


def test_of_two_epochs_without_one_right_answer_the_one_with_less_loss_is_better(tmp_path):
    config = PRESETS["vaswani-tiny"].replace(d_model=16, num_heads=2, ffn_dim=16, num_layers=1)
    settings = TrainingSettings(epochs=3, patience=1, learning_rate=0.003, schedule="constant")
    events = []
    run_job(
        TrainingJob(config=config, settings=settings, data="addition", rows=200),
        runs=tmp_path,
        watch=events.append,
    )
    epochs = [event for event in events if event["event"] == "epoch"]
    assert [epoch["val_exact_match"] for epoch in epochs] == [0, 0, 0]
    losses = [epoch["val_loss"] for epoch in epochs]
    assert losses == sorted(losses, reverse=True)
    assert [epoch["best"] for epoch in epochs] == [True] * 3
