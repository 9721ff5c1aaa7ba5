import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sacrebleu

from transformer_viz.data.tasks import TASKS
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.evaluation.measure import evaluate_generation
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.store.load import load
from transformer_viz.training import text_pairs
from transformer_viz.training.job import run_job
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

SMALL = {
    "d_model": 32,
    "num_heads": 2,
    "ffn_dim": 64,
    "num_layers": 1,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
}
SETTINGS = TrainingSettings(epochs=4, batch_size=32, learning_rate=0.005, beta_2=0.98)


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "copier"
    config = PRESETS["vaswani-tiny"].replace(**SMALL)
    job = TrainingJob(config=config, settings=SETTINGS, data="copy", out=out, rows=6000)
    return out, run_job(job)


def test_a_job_on_a_built_in_task_learns_it(copier):
    out, card = copier
    assert card["test"]["exact_match"] > 0.5
    assert card["test"]["rows"] == 1000
    for control in ("uniform_accuracy", "headless_accuracy"):
        assert 0 < card["test"][control] < card["test"]["token_accuracy"]
    assert card["task"] == "sequence to sequence"
    assert load(out).generate("3 1 4").text == "3 1 4"


def test_what_evaluation_calls_exact_is_what_generation_writes(copier):
    explorer, pairs = load(copier[0]), TASKS["copy"].pairs(25, seed=9)
    written = [explorer.generate(text, keep="weights") for text, _ in pairs]
    right = [
        found.text == target and found.finished for found, (_, target) in zip(written, pairs, strict=True)
    ]
    frame = pd.DataFrame(pairs, columns=["text", "target"])
    assert evaluate_generation(explorer, frame).exact_match == np.mean(right)


def test_a_decoder_alone_learns_to_go_on(tmp_path):
    config = PRESETS["gpt-mini"].replace(**SMALL | {"num_layers": 2})
    settings = TrainingSettings(epochs=1, batch_size=32, learning_rate=0.005)
    job = TrainingJob(config=config, settings=settings, data="repeat", out=tmp_path / "repeat", rows=1000)
    card = run_job(job)
    assert card["task"] == "next token"
    assert card["test"]["token_accuracy"] > 1 / 26
    [epoch] = card["history"]
    assert epoch["val_perplexity"] == pytest.approx(math.exp(epoch["val_loss"]))
    assert card["validation"]["perplexity"] == epoch["val_perplexity"] < 2 * 26
    assert card["test"]["perplexity"] == pytest.approx(epoch["val_perplexity"], rel=0.1)
    assert 0 <= card["test"]["induction_score"] <= 1
    explorer = load(tmp_path / "repeat")
    assert explorer.generate("a b c a b", max_new=2).steps
    evaluated = evaluate_texts(explorer, text_pairs.TextPairs(job).test["text"].tolist())
    assert evaluated.perplexity == pytest.approx(card["test"]["perplexity"], rel=1e-6)


def test_pairs_from_a_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("text,target\n" + "".join(f"word{i} film,film word{i % 3}\n" for i in range(40)))
    config = PRESETS["vaswani-tiny"].replace(**SMALL | {"tie_embeddings": False})
    settings = TrainingSettings(epochs=1)
    job = TrainingJob(config=config, settings=settings, data=path, test=path, out=tmp_path / "m")
    card = run_job(job)
    assert card["data"]["rows"] == 40
    assert card["test"]["file"] == "pairs.csv"
    assert card["test"]["texts"] == 40
    assert 0 <= card["test"]["bleu_one_reference"] <= card["test"]["bleu"] <= 100


def test_each_side_of_a_pair_has_its_own_tokens(tmp_path):
    path, out = tmp_path / "pairs.csv", tmp_path / "m"
    path.write_text("text,target\n" + "".join(f"I read book {i},我读第 {i} 本书\n" for i in range(40)))
    config = PRESETS["vaswani-tiny"].replace(**SMALL | {"tie_embeddings": False})
    settings = TrainingSettings(epochs=1)
    run_job(TrainingJob(config=config, settings=settings, data=path, out=out, target_tokens="characters"))
    explorer = load(out)
    assert (explorer.tokenizer.kind, explorer.output_tokenizer.kind) == ("words", "characters")
    assert {"read", "book"} <= set(explorer.tokenizer.vocabulary)
    assert {"读", "书"} <= set(explorer.output_tokenizer.vocabulary)
    assert not {"read", "book"} & set(explorer.output_tokenizer.vocabulary)
    assert explorer.config.vocab_size != explorer.config.target_vocab_size
    assert explorer.trace("I read", target="我读").target_tokens == ("[START]", "我", "读")


def test_bleu_is_measured_on_what_is_written_for_validation_texts(tmp_path, monkeypatch):
    rows = [f"line {i},{target}" for i in range(40) for target in (f"第 {i} 行，共四行", f"{i} 号行")]
    (tmp_path / "pairs.csv").write_text("text,target\n" + "\n".join(rows))
    config = PRESETS["vaswani-tiny"].replace(**SMALL)
    job = TrainingJob(config=config, settings=TrainingSettings(epochs=1), data=tmp_path / "pairs.csv")
    monkeypatch.setattr(text_pairs, "BLEU_TEXTS", 3)
    dataset, asked = text_pairs.TextPairs(job), []

    def generate_all(explorer, texts, max_new):
        asked.extend(texts)
        return [f"第 {text.split()[1]} 行，共三行" for text in texts]

    monkeypatch.setattr(text_pairs, "generate_all", generate_all)
    found = dataset.written_metrics(SimpleNamespace(config=dataset.config))
    assert len(set(asked)) == len(asked) == 3
    numbers = [text.split()[1] for text in asked]
    references = [[f"第 {i} 行，共四行" for i in numbers], [f"{i} 号行" for i in numbers]]
    score = sacrebleu.BLEU(tokenize="zh").corpus_score([f"第 {i} 行，共三行" for i in numbers], references)
    assert found == {"bleu": score.score}
    assert 10 < found["bleu"] < 100


def test_the_card_has_every_validation_metric_of_the_best_epoch(copier, tmp_path):
    _, card = copier
    assert card["validation"].keys() == {"rows", "exact_match", "token_accuracy"}  # a task has no sentences
    path = tmp_path / "pairs.csv"
    path.write_text("text,target\n" + "".join(f"word{i} film,film word{i % 3}\n" for i in range(40)))
    config = PRESETS["vaswani-tiny"].replace(**SMALL)
    card = run_job(TrainingJob(config=config, settings=TrainingSettings(epochs=2), data=path), runs=tmp_path)
    best = card["history"][card["best_epoch"] - 1]
    names = ("exact_match", "token_accuracy", "bleu")
    assert card["validation"] == {"rows": 4} | {name: best[f"val_{name}"] for name in names}


def test_the_curve_of_a_language_model_of_own_texts_is_its_perplexity():
    for name in ("gpt-mini", "bert-mini", "single-block"):
        config, pack = PRESETS[name], PRESETS[name].fills_in
        settings = TrainingSettings(pack=pack)
        job = TrainingJob(config=config, settings=settings, data="poems.txt")
        assert job.drawn_metric == ("accuracy" if name == "single-block" else "perplexity")
    assert TrainingJob(config=PRESETS["gpt-mini"], settings=SETTINGS, data="repeat").drawn_metric == (
        "token_accuracy"
    )


def test_of_pairs_in_a_file_the_curve_is_that_of_the_tokens():
    config = PRESETS["vaswani-tiny"]
    task, own = (TrainingJob(config=config, settings=SETTINGS, data=data) for data in ("copy", "pairs.csv"))
    assert (task.metric, own.metric) == ("exact_match", "exact_match")
    assert (task.drawn_metric, own.drawn_metric) == ("exact_match", "token_accuracy")


def test_tokens_of_the_target_need_a_vocabulary_of_their_own():
    parts = {"settings": SETTINGS, "data": "copy", "target_tokens": "words"}
    with pytest.raises(ValueError, match=r"Set `tie_embeddings` to false"):
        TrainingJob(config=PRESETS["vaswani-tiny"], **parts)
    with pytest.raises(ValueError, match=r"Leave them out for 'decoder'"):
        TrainingJob(config=PRESETS["gpt-mini"], **parts)


def test_an_encoder_learns_the_labels_of_a_task_and_refuses_one_without(tmp_path):
    config = PRESETS["single-block"].replace(d_model=16, num_heads=2, ffn_dim=8)
    settings = TrainingSettings(epochs=1)
    card = run_job(TrainingJob(config=config, settings=settings, data="parity", out=tmp_path / "m", rows=300))
    assert card["label_values"] == {"even": "even", "odd": "odd"}
    with pytest.raises(RunError, match=r"The task 'sort' has no labels\. Choose an encoder-decoder"):
        run_job(TrainingJob(config=config, settings=settings, data="sort", out=tmp_path / "n", rows=300))


def test_a_task_makes_its_own_test(tmp_path):
    config = PRESETS["vaswani-tiny"]
    job = TrainingJob(config=config, settings=SETTINGS, data="copy", test=tmp_path, out=tmp_path / "m")
    with pytest.raises(RunError, match=r"makes its own test\. Leave --test out"):
        run_job(job)
