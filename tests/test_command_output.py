"""What commands write beside words for people: JSON for scripts, and with -q the result alone."""

import json
import math
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from chinese import english
from running_app import ROOT
from small_models import labelled_reviews

import transformer_viz as tv
from transformer_viz.cli import doctor
from transformer_viz.cli.main import main
from transformer_viz.cli.output import aligned, plain, table
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.evaluation.measure import evaluate
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)
MODELS = ROOT / "models"


@pytest.fixture
def run(capsys):
    """Return a function that runs a command that succeeds, and returns its two outputs."""

    def call(*arguments):
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr()

    return call


@pytest.fixture
def read(run):
    """Return a function that runs a command with --json, and returns its document; it says nothing else."""

    def call(*arguments):
        written = run(*arguments, "--json")
        assert written.err == ""
        return json.loads(written.out, parse_constant=pytest.fail)

    return call


@pytest.fixture
def rows(tmp_path, explorer, reviews):
    """A file of labelled texts, one of them blank."""
    frame = pd.DataFrame({"text": reviews, "label": explorer.predict(reviews)["label"]})
    path = tmp_path / "rows.csv"
    path.write_text(frame.to_csv(index=False) + ",bad\n")
    return path


def test_models_are_given_with_sizes_and_figures(read, models_folder):
    [small] = read("models")
    assert small == {
        "name": "small",
        "folder": str(models_folder / "small"),
        "task": "classification",
        "parameters": tv.load("small").config.num_parameters,
        "bytes": tv.store.list_models()[0].size,
        "test": {},
        "error": None,
    }


def test_a_damaged_model_is_given_with_what_is_wrong(read, models_folder):
    shutil.copytree(models_folder / "small", models_folder / "cut")
    (models_folder / "cut" / "card.json").unlink()
    try:
        cut, _ = read("models", "--lang", "zh")
    finally:
        shutil.rmtree(models_folder / "cut")
    assert (cut["name"], cut["parameters"], cut["test"]) == ("cut", None, {})
    assert "缺少：'card.json'" in cut["error"]


def test_a_file_of_keras_beside_the_models_is_explained(run, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    (tmp_path / "mine.KERAS").write_bytes(b"")
    said = run("models").out
    assert "mine.KERAS is a model that Keras saved, which is never opened here" in said
    assert "`weights = tv.attention_of(model, inputs)`" in said


def test_predictions_are_given_unrounded(read, models_folder, explorer):
    [found] = read("predict", "--model", "small", "--text", "A lovely film")
    [row] = explorer.predict(["A lovely film"]).to_dict("records")
    assert (found["text"], found["label"]) == ("A lovely film", row["label"])
    assert found["probabilities"] == {label: row[f"prob_{label}"] for label in ("bad", "fair", "good")}


def test_the_tokens_that_fill_a_gap_are_given_for_each_text(read):
    texts = ["a [MASK] film", "a [MASK] film"]
    found = read("predict", "--model", MODELS / "reviews-masked", "--text", *texts)
    assert [each["text"] for each in found] == texts
    assert found[0]["tokens"] == tv.load(str(MODELS / "reviews-masked")).fill_in(texts[0]).to_dict("records")


def test_written_texts_are_given(read):
    found = read("generate", "--model", MODELS / "reverse-digits", "--text", "1 2 3", "4 5", "--max-new", 3)
    assert found == [
        {"text": "1 2 3", "generated": "3 2 1", "finished": False},
        {"text": "4 5", "generated": "5 4", "finished": True},
    ]


def test_effects_are_given_of_all_words_and_heads(read, models_folder):
    found = read("explain", "--model", "small", "--text", "A lovely film", "--versus", "fair")
    effects = tv.effects(tv.load("small"), "A lovely film", versus="fair")
    assert (found["labels"], found["versus"]) == ([*effects.labels], "fair")
    assert found["log_odds"] == effects.certainty.log_odds
    assert [word["value"] for word in found["words"]] == effects.words["value"].tolist()
    heads = {(head["layer"], head["head"]): head["effect"] for head in found["heads"]}
    assert heads == {place: float(value) for place, value in np.ndenumerate(effects.heads["encoder"])}


def test_how_good_estimates_are_is_given(read, run, models_folder, rows):
    asked = ("explain", "--measure", "--model", "small", "--data", rows, "--skip-bad-rows", "--rows", 2)
    written = run(*asked, "--json")
    found = json.loads(written.out)
    assert written.err.startswith(f"{rows}: 1 of ")
    assert found["texts"] == 2
    assert found["measured"][-1]["what"] == "words"
    assert found["measured"][-1]["layer"] is None
    quiet = run(*asked, "-q")
    assert quiet.err == ""
    assert quiet.out.splitlines()[0].split()[:3] == ["what", "kind", "layer"]
    assert len(quiet.out.splitlines()) == 1 + len(found["measured"]) + 1


def test_a_comparison_is_given_with_every_head(read, models_folder):
    found = read("compare", "--model", "small", "--text", "A lovely film", "--ablate", "1.2")
    one = tv.load("small").trace("A lovely film")
    other = tv.load("small").trace("A lovely film", ablate=[(1, 2)])
    number = int(one.probs.argmax())
    assert found["a"] == {
        "model": "small",
        "text": "A lovely film",
        "answer": one.labels[number],
        "probability": float(one.probs.max()),
    }
    assert found["b"]["probability"] == float(other.probs.max())
    assert found["change"]["label"] == one.labels[number]
    assert found["change"]["after"] == pytest.approx(float(other.probs[number]))
    assert len(found["heads"]) == 2 * 3
    assert [head["moved"] for head in found["heads"]] == sorted(
        (head["moved"] for head in found["heads"]), reverse=True
    )


def test_figures_are_given_and_remarks_are_elsewhere(run, models_folder, rows, explorer, reviews):
    asked = ("evaluate", "--model", "small", "--data", rows, "--skip-bad-rows")
    written = run(*asked, "--json")
    found = json.loads(written.out)
    assert "1 of " in written.err
    truth = pd.DataFrame({"text": reviews, "label": explorer.predict(reviews)["label"]})
    expected = evaluate(explorer, truth)
    assert (found["rows"], found["accuracy"]) == (len(reviews), 1.0)
    assert found["calibration"]["error"] == expected.calibration.error
    assert found["by_label"] == expected.by_label.to_dict("index")
    assert found["confusion"] == expected.confusion.to_dict("index")
    quiet = run(*asked, "-q")
    assert quiet.err == ""
    assert quiet.out.startswith("rows ")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("reverse-digits", ["rows", "exact_match", "perplexity", "token_accuracy"]),
        ("reviews-next", ["texts", "tokens", "bytes", "perplexity", "bits_per_byte", "token_accuracy"]),
        ("reviews-masked", ["texts", "hidden_tokens", "perplexity", "token_accuracy"]),
    ],
)
def test_figures_of_tokens_are_given(read, tmp_path, model, names):
    data = tmp_path / "data.csv"
    data.write_text(
        "text,target\n1 2 3,3 2 1\n" if model == "reverse-digits" else "text\nThe film was good.\n"
    )
    found = read("evaluate", "-q", "--model", MODELS / model, "--data", data)
    assert found.keys() == {*names, "uniform_accuracy", "headless_accuracy"}
    assert found[names[0]] == 1
    assert 1 <= found["perplexity"] < 100


def test_roles_are_given_with_their_evidence(read, run, models_folder, explorer, reviews, rows):
    asked = ("roles", "--model", "small", "--data", rows, "--skip-bad-rows", "-q")
    found, expected = read(*asked), tv.head_roles(explorer, reviews)
    assert (found["texts"], found["tokens"], found["short"]) == (len(reviews), expected.tokens, None)
    for head in found["heads"]:
        role = expected.usual("encoder")[head["layer"]][head["head"]]
        assert (head["kind"], head["role"], head["held"]) == ("encoder", role.name, role.held)
        assert head["share"] == (None if math.isnan(role.share) else role.share)
    assert len(found["heads"]) == 2 * 3
    quiet = run(*asked)
    assert quiet.err == ""
    assert quiet.out.splitlines()[0].split()[0] == "kind"


def test_runs_are_given_with_their_progress(read, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    assert read("runs") == []
    job = TrainingJob(config=PRESETS["single-block"], settings=TrainingSettings(), data="parity")
    waits, broken = create_run(job), create_run(job)
    (broken.path / "job.json").write_text("")
    waits.append("data", total_steps=4)
    waits.append("epoch", epoch=1, step=3, best=True, loss=1.0, val_accuracy=0.12345678)
    first, second = read("runs")
    assert first == {"run": broken.id, "status": "broken", "error": "job.json is empty."}
    assert second == {
        "run": waits.id,
        "status": "queued",
        "step": 3,
        "total_steps": 4,
        "metric": "accuracy",
        "best": 0.12345678,
        "error": None,
    }


FINDINGS = [
    doctor.Finding("python", "3.11"),
    doctor.Finding("memory", "可用 1.0 GB", "请关闭其他程序。"),
    doctor.Finding("huggingface-hub", "1.0"),
]


def test_checks_are_given_and_the_status_says_whether_all_is_well(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "examine", lambda: iter(FINDINGS))
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["wrong"]) == (tv.__version__, 1)
    assert [check["subject"] for check in found["checks"]] == ["python", "memory", "huggingface-hub"]
    assert [check["remedy"] for check in found["checks"]] == ["", "请关闭其他程序。", ""]
    assert main(["doctor", "--lang", "zh"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "  python          3.11",
        "  内存            可用 1.0 GB",
        "                  解决办法：请关闭其他程序。",
        "  huggingface-hub 1.0",
        "  1 项待解决",
    ]


def test_progress_is_a_bar_on_a_terminal_unless_none_is_wanted(run, models_folder, rows, monkeypatch):
    asked = ("roles", "--lang", "zh", "--model", "small", "--data", rows, "--skip-bad-rows")
    assert run(*asked).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert re.search(r"6/6 .*段/s\]", run(*asked).err)
    assert run(*asked, "-q").err == ""


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """The arguments of a small training, in places of its own."""
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    data = tmp_path / "reviews.csv"
    labelled_reviews().to_csv(data, index=False)
    return (
        *("train", "--preset", "single-block", "--data", data, "--out", tmp_path / "mine", "--epochs", 2),
        *("--set", "d_model=8", "num_heads=2", "--test-share", 0.2),
    )


def test_a_quiet_training_says_what_came_of_it_and_nothing_else(run, trained, tmp_path):
    written = run(*trained, "--quiet")
    assert written.err == ""
    wrote, validation, test = written.out.splitlines()
    assert wrote.startswith(f"Wrote {tmp_path / 'mine'}: ")
    assert validation.startswith("validation accuracy ")
    assert test.startswith("test accuracy ")


def test_a_training_is_told_of_in_chinese(run, trained, tmp_path):
    lines = run("--lang", "zh", *trained).out.splitlines()
    assert lines[0] == f"{tmp_path / 'reviews.csv'} 按带标签的文本读取，用于学习分类：text=text label=label"
    assert [line[:6] for line in lines if line.startswith("第 ")] == ["第 1 轮：", "第 2 轮："]
    assert "验证集损失 " in "".join(lines)
    assert any(line.startswith(f"已写入 {tmp_path / 'mine'}：") for line in lines)
    assert "最后一轮仍明显好于前一轮" in "".join(lines)
    assert lines[-2].startswith("验证集：准确率 ")
    assert lines[-1].startswith("测试集：准确率 ")
    command = json.loads((tmp_path / "mine" / "card.json").read_text("utf-8"))["command"]
    assert command.startswith("python -m transformer_viz train --preset single-block")
    assert "--lang" not in command


def test_a_run_is_resumed_quietly(run, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    settings = TrainingSettings(epochs=1, batch_size=32)
    one, other = (
        create_run(TrainingJob(config=CONFIG, settings=settings, data="parity", rows=100)) for _ in "ab"
    )
    for each in (one, other):
        each.stop()
    loud, quiet = run("resume", one.id), run("resume", other.id, "-q")
    assert loud.out.startswith(f"Run {one.id}; stop it with Ctrl-C")
    assert "\nepoch 1: loss " in loud.out
    assert quiet.err == ""
    assert quiet.out.startswith("Wrote ")


def test_what_is_not_the_result_of_a_trace_is_left_out(run, models_folder, tmp_path):
    asked = ("trace", "--model", "small", "--text", "A lovely film", "--out", tmp_path / "t.npz")
    loud, quiet = run(*asked), run(*asked, "-q")
    assert loud.out.startswith(quiet.out)
    assert loud.out.removeprefix(quiet.out).startswith(f"Wrote {tmp_path / 't.npz'} (")
    assert quiet.out.startswith("a lovely film\n")


COMMANDS = [
    ("models",),
    ("runs",),
    ("predict", "--model", MODELS / "reviews-masked", "--text", "[MASK]"),
    ("trace", "--model", "small", "--text", "film"),
    ("explain", "--model", "small", "--text", "film"),
    ("explain", "--model", "small", "--text", "film", "--answer", "good", "--versus", "bad"),
    ("compare", "--model", "small", "--text", "film", "--ablate", "0.1"),
    ("roles", "--model", MODELS / "imdb-sentiment"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_output_of_a_command_is_in_english(run, models_folder, tmp_path, monkeypatch, command):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    if command[0] == "trace":
        command = (*command, "--out", tmp_path / "t.npz")
    written = run("--lang", "zh", *command)
    assert written.err == ""
    heads = written.out.splitlines()[0] if command[0] in ("models", "predict", "roles") else ""
    assert not any(letter.isascii() and letter.isalpha() for letter in heads)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in written.out)
    assert english(written.out) == []
    assert not any(word in written.out for word in ("encoder", "layer", "Wrote", "log-odds", "measured"))


def test_evaluation_is_written_in_chinese(run, models_folder, rows):
    written = run("--lang", "zh", "evaluate", "--model", "small", "--data", rows, "--skip-bad-rows", "-q")
    lines = written.out.splitlines()
    assert lines[0].split() == ["条数", "6"]
    assert lines[2].startswith("  均匀注意力  ")
    assert lines[-1] == "（行：真实标签；列：预测标签）"
    assert "精确率" in written.out
    assert english(written.out) == []


def test_a_reader_that_has_had_enough_ends_a_command_in_peace():
    command = [sys.executable, "-m", "transformer_viz", "models"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(command, cwd=ROOT, env=buffered, **pipes)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
    process.stderr.close()


def test_what_is_no_number_is_null():
    found = plain({"a": [float("nan"), np.float32("inf"), pd.NA, None], "b": (np.int64(2), True), 3: "x"})
    assert found == {"a": [None] * 4, "b": [2, True], "3": "x"}
    assert plain(np.float32(0.1)) == float(np.float32(0.1))


def test_columns_align_as_they_look():
    lines = table(pd.DataFrame({"词": ["好", "good"], "n": [1, 2]}), index=False).splitlines()
    assert lines == ["  词  n", "  好  1", "good  2"]
    assert aligned([("准确率", "1"), ("  头", "2"), ("rows", "3")]) == "准确率  1\n  头  2\nrows    3"
