"""The command line: what is printed where, and the exit status, mostly in this process."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_models import labelled_reviews

import transformer_viz as tv
from transformer_viz import PRESETS, Trace, store
from transformer_viz.cli.main import main
from transformer_viz.cli.program import EXAMPLES
from transformer_viz.data import ReadOptions, preview
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs
from transformer_viz.training.runs.recipes import RECIPES
from transformer_viz.training.runs.settings import TrainingSettings

ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(capsys):
    """Return a function that runs a command in this process, and returns what is known of its end."""

    def call(*arguments):
        status = main([str(argument) for argument in arguments])
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return call


def run_process(*arguments, **variables):
    command = [sys.executable, "-m", "transformer_viz", *map(str, arguments)]
    environment = os.environ | variables
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)


@pytest.fixture(scope="module")
def csv(tmp_path_factory, reviews, explorer):
    path = tmp_path_factory.mktemp("csv") / "reviews.csv"
    labels = explorer.predict(reviews)["label"]
    path.write_text(
        "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in zip(reviews, labels, strict=True))
    )
    return path


def test_models_lists_name_task_size_and_figure(run, models_folder):
    done = run("models")
    assert (done.returncode, done.stderr) == (0, "")
    assert "small" in done.stdout
    assert "classification" in done.stdout
    assert "not measured" in done.stdout


def test_models_tells_of_files_that_are_none(run, models_folder):
    file = models_folder / "torch.pt"
    file.write_bytes(b"\x80\x02")
    try:
        done = run("models")
    finally:
        file.unlink()
    assert done.stdout.splitlines()[-1].startswith(f"{file} is a pickle, as PyTorch writes it")


def test_predict_prints_a_line_for_each_text_and_nothing_else(models_folder, explorer):
    done = run_process("predict", "--model", "small", "--text", "A lovely film.", "Not good.")
    expected = explorer.predict(["A lovely film.", "Not good."])
    assert (done.returncode, done.stderr) == (0, "")
    for line, row in zip(done.stdout.splitlines(), expected.to_dict("records"), strict=True):
        assert line == f"{row['label']}  {row['prob_' + row['label']]:.4f}  {row['text']}"


def test_trace_writes_a_file_that_loads(run, models_folder, tmp_path):
    done = run(
        "trace", "--model", models_folder / "small", "--text", "A lovely film.", "--out", tmp_path / "t.npz"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Trace.load(tmp_path / "t.npz").tokens == ("a", "lovely", "film", ".")
    assert done.stdout.startswith("a lovely film .\n")


def test_a_trace_in_a_table_has_a_row_for_each_weight(run, models_folder, tmp_path):
    asked = ("trace", "--model", models_folder / "small", "--text", "A lovely film.")
    assert run(*asked, "--out", tmp_path / "t.csv").returncode == 0
    frame = pd.read_csv(tmp_path / "t.csv")
    assert len(frame) == 2 * 3 * 4 * 4
    assert {"layer", "head", "query_token", "key_token", "weight"} <= set(frame)


def test_two_prompts_are_sampled_independently_and_one_as_before(run, models_folder, tmp_path):
    asked = ("generate", "--model", ROOT / "models" / "reviews-next", "--temperature", "1", "--max-new", "8")
    lines = run(*asked, "--text", "the film", "the film").stdout.splitlines()
    assert lines[0] != lines[1]
    assert run(*asked, "--text", "the film").stdout.splitlines() == lines[:1]


@pytest.mark.parametrize("out", ["Wrong Name", "small"])
def test_a_name_that_cannot_be_taken_leaves_no_run(models_folder, tmp_path, monkeypatch, capsys, out):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    data = tmp_path / "a.csv"
    labelled_reviews().to_csv(data, index=False)
    assert main(["train", "--preset", "single-block", "--data", str(data), "--out", out]) == 2
    assert out in capsys.readouterr().err
    assert not list_runs()


def test_a_trace_without_a_target_is_of_the_generated_one(run, tmp_path):
    asked = ("trace", "--model", ROOT / "models" / "reverse-digits", "--text", "1 2 3")
    done = run(*asked, "--out", tmp_path / "t.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert Trace.load(tmp_path / "t.npz").target_text == "3 2 1"
    assert done.stdout.startswith("1 2 3\n[START] 3 2 1\n[END] ")


def test_compare_puts_the_tokens_of_a_reversed_text_beside_their_own(run):
    model, text = ROOT / "models" / "single-block", "this film was not good at all"
    done = run("compare", "--model", model, "--text", text, "--order", "reversed")
    assert done.returncode == 0
    assert "+0.00 points, log-odds +0.0000" in done.stdout  # it has no positions
    moved = [
        float(line.split()[-1]) for line in done.stdout.splitlines() if line.strip().startswith("encoder")
    ]
    assert len(moved) == 8
    assert max(moved) < 1e-4
    wrong = run("compare", "--model", model, "--text", text, "--order", "sorted")
    assert wrong.returncode == 2
    assert "`order` must be 'reversed', 'shuffled' or 'shuffled:7'. Received: 'sorted'." in wrong.stderr


def test_compare_removes_the_residual_connections(run):
    model, text = ROOT / "models" / "imdb-sentiment", "This film was wonderful."
    done = run("compare", "--model", model, "--text", text, "--no-residual")
    assert done.returncode == 0
    assert done.stdout.startswith("A  positive")
    assert done.stdout.splitlines()[1].startswith("B  negative")


def test_compare_switches_off_feed_forward_layers(run, models_folder):
    asked = ("compare", "--model", "small", "--text", "A lovely film", "--json")
    done = run(*asked, "--ablate-ffn", "1", "encoder.0")
    assert done.returncode == 0
    found = tv.load("small").trace("A lovely film", ablate_ffn=[0, 1])
    assert json.loads(done.stdout)["b"]["probability"] == pytest.approx(float(found.probs.max()))
    wrong = run(*asked, "--ablate-ffn", "last")
    assert wrong.returncode == 2
    assert "'last' is no layer. Write 1 for layer 1, counted from 0, or decoder.1." in wrong.stderr


def test_explain_draws_a_bar_for_each_word_and_writes_a_row_for_each_cell(run, models_folder, tmp_path):
    asked = ("explain", "--model", "small", "--text", "A lovely film", "--answer", "good", "--versus", "bad")
    done = run(*asked, "--out", tmp_path / "cells.csv")
    assert (done.returncode, done.stderr) == (0, "")
    found = tv.effects(tv.load("small"), "A lovely film", answer="good", versus="bad")
    first, _, words, *lines = done.stdout.splitlines()
    assert words == "Words, measured with [UNK] in place:"
    assert "Heads, estimated by weight × gradient, numbered from 0:" in lines
    assert first.startswith(f"good rather than bad {found.certainty.probability:.4f}, log-odds ")
    for line, word in zip(lines, found.words.to_dict("records"), strict=False):
        assert line.split()[:2] == [word["word"], f"{round(word['value'], 2) + 0.0:+.2f}"]
        left, right = line.partition("|")[::2]
        assert ("█" in left, "█" in right) in {(word["value"] < 0, word["value"] > 0), (False, False)}
    heads = done.stdout.splitlines()[-7:-1]
    assert abs(float(heads[0].split()[-1])) == pytest.approx(np.abs(found.heads["encoder"]).max(), abs=0.01)
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == found.cells["encoder"].size
    wrong = run(*asked[:5], "--answer", "great")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no label 'great'. The labels are bad, fair, good." in wrong.stderr


def test_roles_are_measured_over_a_file_kept_with_the_model_and_shown_from_there(
    run, models_folder, csv, reviews
):
    asked = ("roles", "--model", "small")
    before = run(*asked)
    assert (before.returncode, before.stdout) == (2, "")
    assert "roles --model small --data FILE --save" in before.stderr
    shutil.copytree(models_folder / "small", models_folder / "measured")
    asked = ("roles", "--model", models_folder / "measured")
    seen = run(*asked, "--data", csv, "--rows", 4)
    assert (seen.returncode, seen.stderr) == (0, "")
    measured = tv.head_roles(tv.load("measured"), reviews)
    said = f"Usual roles in 6 texts of about {measured.tokens} tokens.\n"
    assert seen.stdout.splitlines()[-1].startswith("Usual roles in 4 texts of about ")
    assert run(*asked).returncode == 2
    saved = run(*asked, "--data", csv, "--save")
    assert (saved.returncode, saved.stderr) == (0, "")
    table, _, wrote = saved.stdout.partition(said)
    assert wrote.startswith(f"Wrote {models_folder / 'measured' / 'roles.json'} (")
    again = run("roles", "--model", "measured")
    assert (again.returncode, again.stdout) == (0, table + said)
    assert tv.load("measured").head_roles == measured
    rows = [line.split() for line in table.splitlines()]
    assert rows[0] == ["kind", "layer", "head", "role", "share", "spread", "texts"]
    assert [row[:3] for row in rows[1:]] == [["encoder", str(i), str(j)] for i in range(2) for j in range(3)]
    shutil.rmtree(models_folder / "measured")


@pytest.fixture
def worded(models_folder):
    """A copy of the small model."""
    yield shutil.copytree(models_folder / "small", models_folder / "worded")
    shutil.rmtree(models_folder / "worded")


def test_how_good_estimates_are_is_measured_over_a_file_and_kept_in_the_card(run, worded, csv):
    asked = ("explain", "--model", "worded", "--measure")
    before = store.read_model("worded").card
    done = run(*asked, "--data", csv, "--rows", "4", "--save")
    assert done.returncode == 0
    assert "Rank correlation of estimates with measurements over 4 texts; layers from 0." in done.stdout
    card = store.read_model("worded").card
    assert {name: card[name] for name in before} == before
    heads = [row for row in card["effects"] if row["what"] == "heads"]
    assert [(row["kind"], row["layer"]) for row in heads] == [("encoder", 0), ("encoder", 1)]
    assert f"{heads[0]['correlation']:.2f}" in done.stdout
    assert [row["layer"] for row in card["effects"] if row["what"] == "words"] == [None]
    nothing = run(*asked)
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "name a file with `--data`" in nothing.stderr
    with pytest.raises(SystemExit, match="2"):
        run(*asked, "--text", "A film")


def test_roles_over_labelled_texts_say_which_words_are_typical_of_each_label(run, worded, tmp_path):
    rows = labelled_reviews()
    rows.to_csv(tmp_path / "labelled.csv", index=False)
    done = run("roles", "--model", worded, "--data", tmp_path / "labelled.csv", "--rows", 120, "--save")
    assert (done.returncode, done.stderr) == (0, "")
    explorer = tv.load("worded")
    words = tv.typical_words(explorer, rows)
    assert explorer.head_roles.words == words
    assert f"Words typical of bad: {', '.join(words['bad'])}\n" in done.stdout


def test_the_words_that_a_head_usually_reads_are_printed_beside_its_role(run, worded, explorer, reviews):
    roles = tv.head_roles(explorer, reviews, words={"good": ("lovely",), "bad": ("dull",)})
    found = roles.kinds["encoder"]
    place = found.names.index("words:good")
    found.texts[place] = 200
    found.ratio[1, 2, 0], found.ratio_spread[1, 2, 0] = 2.46, 0.81
    for name, number in (("share", 0.27), ("spread", 0.1), ("held", 0.9)):
        getattr(found, name)[1, 2, place] = number
    store.write_head_roles("worded", dataclasses.replace(roles, texts=300), worded.parent)
    lines = run("roles", "--model", worded).stdout.splitlines()
    assert lines[0].split()[-1] == "words"
    assert " ".join(lines[6].split()) == "encoder 1 2 words 0.27 0.10 180 of 200 good 2.5 ± 0.8"


def test_roles_over_texts_without_the_models_labels_keep_the_words_that_are_known(
    run, worded, tmp_path, reviews
):
    rows = labelled_reviews()
    other = rows.replace({"label": {"bad": "1 star", "good": "5 stars"}})
    other.to_csv(tmp_path / "stars.csv", index=False)
    (tmp_path / "plain.txt").write_text("\n".join(reviews))
    words = {"good": ("lovely",)}
    store.write_head_roles("worded", tv.head_roles(tv.load("worded"), reviews, words=words), worded.parent)
    for name in ("stars.csv", "plain.txt"):
        done = run("roles", "--model", worded, "--data", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith("Words typical of good: lovely\n")


def test_roles_can_be_measured_over_texts_that_a_task_generates(run):
    done = run("roles", "--model", ROOT / "models" / "reverse-digits", "--data", "reverse", "--rows", 40)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("backwards") == 4


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["--save"], "`--save` stores the roles measured over the texts of `--data`. Add `--data FILE`."),
        (["--data", "copy", "--rows", "0"], "`--rows` must be 1 or more. Received: 0."),
        (["--data", "none.csv"], "none.csv"),
    ],
)
def test_roles_refuses_what_cannot_be_measured(run, models_folder, asked, sentence):
    done = run("roles", "--model", "small", *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_evaluate_prints_every_figure(run, models_folder, csv):
    done = run("evaluate", "--model", "small", "--data", csv)
    assert done.returncode == 0
    for word in ("precision", "recall", "f1", "predicted"):
        assert word in done.stdout
    names = ("rows", "accuracy", "uniform attention", "heads set to zero", "calibration error")
    assert all(f"\n{name}" in f"\n{done.stdout}".replace("\n  ", "\n") for name in names)
    assert re.search(r"^accuracy +1\.0000$", done.stdout, re.MULTILINE)
    assert re.search(r"^rows +6$", done.stdout, re.MULTILINE)
    assert done.stderr.count("  0%|") == 1  # one progress bar


def test_evaluate_reads_the_columns_it_is_told(run, models_folder, csv, tmp_path):
    path = tmp_path / "odd.tsv"
    rows = (line.rpartition(",") for line in csv.read_text().splitlines()[1:])
    path.write_text("first\tsecond\n" + "".join(f"{label}\t{text}\n" for text, _, label in rows))
    done = run("evaluate", "--model", "small", "--data", path, "--columns", "text=second", "label=first")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^accuracy +1\.0000$", done.stdout, re.MULTILINE)


def test_train_writes_a_model_and_the_command_to_train_it_again(run, models_folder, tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("text,label\n" + "".join(f"good {i},1\nbad {i},0\n" for i in range(40)))
    out = tmp_path / "mine"
    sizes = ["d_model=16", "num_heads=2", "norm=pre"]
    done = run(
        *("train", "--preset", "single-block", "--data", data, "--out", out, "--set", *sizes),
        *("--label-names", "0=no", "1=yes", "--epochs", 2, "--test", data, "--source", "made up"),
        *("--purpose", "en=says no or yes"),
        *("--limits", "en=It knows 2 words: good = 1, bad = 0.", "zh=它只认识 2 个词。"),
    )
    assert done.returncode == 0, done.stderr
    assert "test accuracy" in done.stdout
    card = run("models")
    assert card.returncode == 0
    stored = json.loads((out / "card.json").read_text())
    assert stored["command"].startswith(
        "python -m transformer_viz train --preset single-block --data rows.csv"
    )
    assert stored["source"] == "made up"
    assert stored["purpose"] == {"en": "says no or yes"}
    assert stored["examples"]  # validation rows, as none are given
    assert all(f"\n{text}," in data.read_text() for text in stored["examples"])
    assert stored["limits"] == {"en": "It knows 2 words: good = 1, bad = 0.", "zh": "它只认识 2 个词。"}
    assert "\nValueError" not in done.stderr


@pytest.fixture
def asked(run, monkeypatch, tmp_path):
    """Return a function that returns the job of a `train` command, without training it."""
    runs = []
    monkeypatch.setattr("transformer_viz.cli.training._train_run", runs.append)
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))

    def call(*arguments):
        done = run("train", *arguments, "--out", "any")
        assert done.returncode == 0, done.stderr
        return runs[-1].job, done.stdout

    return call


CHINESE = "text,label\n" + "".join(f"味道不错 {i},好\n送餐很慢 {i},坏\n" for i in range(20))
HOMETOWN = """我冒了严寒，回到相隔二千余里，别了二十余年的故乡去。
时候既然是深冬；渐近故乡时，天气又阴晦了，冷风吹进船舱中，呜呜的响，从蓬隙向外一望，苍黄的天底下，远近横着几个萧索的荒村。
阿！这不是我二十年来时时记得的故乡？
"""
"""The beginning of a story by Lu Xun (1921)."""

NUMBERED = "编号,正文\n" + "".join(f"{i},{line}\n" for i, line in enumerate(HOMETOWN.splitlines()))

PAIRS = "source,target\n" + "".join(f"房间 {i} 号,room number {i}\n" for i in range(20))


@pytest.mark.parametrize(
    ("text", "kind", "tokens", "keep_case", "longest"),
    [
        (CHINESE, "labels", "characters", False, 256),
        (CHINESE.replace("味道不错", "good food").replace("送餐很慢", "slow"), "labels", "words", False, 256),
        (PAIRS.replace("房间", "piece").replace("号", "libre"), "pairs", "bpe", True, 64),
        ("A line of text.\n" * 20, "texts", "bpe", True, 64),
        (HOMETOWN, "texts", "characters", True, 64),
        (NUMBERED, "texts", "characters", True, 64),
        (HOMETOWN + "A line of English text.\n" * 99, "texts", "bpe", True, 64),
    ],
)
def test_without_a_preset_train_chooses_for_a_file_what_the_page_does(
    asked, tmp_path, text, kind, tokens, keep_case, longest
):
    data = tmp_path / "mine.csv"
    data.write_text(text)
    job, said = asked("--data", data)
    recipe, rows = RECIPES[kind], preview(data).num_rows
    assert job.config == recipe.config(max_len=longest)
    assert job.settings == recipe.for_rows(rows).training()
    assert (job.tokens, job.keep_case) == (tokens, keep_case)
    kinds = {"labels": "labelled texts", "pairs": "pairs", "texts": "texts"}
    assert said.startswith(f"{data} is read as {kinds[kind]}, to learn ")
    assert (f"{data} has {rows} rows, which is too few" in said) == (rows < 200)
    job, _ = asked("--data", data, "--epochs", 2, "--set", "max_len=9", "--tokens", "wordpiece")
    assert (job.config.max_len, job.settings) == (9, recipe.for_rows(rows).training(epochs=2))
    assert (job.tokens, job.keep_case) == ("wordpiece", False)


def test_text_and_target_of_different_scripts_have_their_own_tokens_and_vocabularies(asked, tmp_path):
    data = tmp_path / "rooms.csv"
    data.write_text(PAIRS)
    job, _ = asked("--data", data)
    assert (job.tokens, job.target_tokens, job.config.tie_embeddings) == ("characters", "bpe", False)
    job, _ = asked("--data", data, "--columns", "text=target", "target=source")
    assert (job.tokens, job.target_tokens, job.config.tie_embeddings) == ("bpe", "characters", False)
    job, _ = asked("--data", data, "--set", "tie_embeddings=true")
    assert (job.tokens, job.target_tokens, job.config.tie_embeddings) == ("bpe", "", True)
    job, _ = asked("--data", data, "--target-tokens", "wordpiece")
    assert (job.tokens, job.target_tokens, job.config.tie_embeddings) == ("characters", "wordpiece", False)
    job, _ = asked("--data", data, "--preset", "vaswani-tiny")
    assert (job.tokens, job.target_tokens, job.config) == ("bpe", "", PRESETS["vaswani-tiny"])
    job, _ = asked("--data", data, "--preset", "vaswani-tiny", "--tokens", "words", "--target-tokens", "bpe")
    assert (job.tokens, job.target_tokens, job.config.tie_embeddings) == ("words", "bpe", False)


def test_pairs_of_one_script_share_a_vocabulary_of_its_tokens(asked, tmp_path):
    data = tmp_path / "couplets.csv"
    data.write_text("source,target\n" + "".join(f"春风 {i} 度,秋雨 {i} 场\n" for i in range(20)))
    job, _ = asked("--data", data)
    assert (job.tokens, job.target_tokens) == ("characters", "")
    assert job.config == RECIPES["pairs"].config(max_len=64)
    assert job.config.tie_embeddings


def test_a_preset_is_trained_as_it_is_on_the_tokens_of_the_file_and_the_encoding_is_named(asked, tmp_path):
    data = tmp_path / "评论.csv"
    data.write_text(CHINESE, encoding="gbk")
    job, said = asked("--preset", "attention-only", "--data", data)
    assert (job.config, job.settings) == (PRESETS["attention-only"], TrainingSettings())
    assert job.tokens == "characters"
    assert said.splitlines()[0] == (
        f"{data} is read as labelled texts, to learn to classify: text=text label=label"
    )
    assert said.splitlines()[-1] == f"{data} was read as GBK."
    assert asked("--data", "addition", "--epochs", 1)[0].rows == RECIPES["addition"].rows


def test_how_a_file_is_to_be_read_is_said_and_kept_with_the_run(asked, tmp_path):
    data = tmp_path / "opiniones.csv"
    rows = "".join(f"¡Qué película {i}!|sí\nNo sé {i}|no\n|no\n" for i in range(99))
    data.write_text(rows, encoding="cp1252")
    flags = ("--encoding", "latin-1", "--no-header", "--skip-bad-rows", "--many-labels")
    job, _ = asked("--data", data, *flags)
    assert job.options == ReadOptions("Windows-1252", False, True, True)
    assert TrainingJob.from_json(job.to_json()) == job
    old = json.loads(job.to_json())
    del old["options"]
    assert TrainingJob.from_json(json.dumps(old)).options == ReadOptions()


NEWS = "Class Index,Title,Description\n" + "".join(
    f"{i % 4},title of {i},what is in {i}\n" for i in range(40)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (NEWS, "what is to be learned is not clear from its columns: Class Index, Title, Description."),
        (NEWS.partition("\n")[2], "seems to have no header: its first row is: 0, title of 0, what is in 0."),
        (NEWS.replace("Class Index", "when"), "what is to be learned is not clear from its columns: when, "),
        (
            "text,funny,sad\n" + "".join(f"film number {i},{i % 2},{i % 3 % 2}\n" for i in range(40)),
            "each of the columns funny, sad stands for a label",
        ),
    ],
    ids=["news", "no header", "titles", "flags"],
)
def test_nothing_is_translated_or_continued_unasked(run, tmp_path, text, sentence):
    data = tmp_path / "mine.csv"
    data.write_text(text)
    done = run("train", "--data", data, "--out", "any")
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_what_is_left_out_is_printed(run, models_folder, csv, tmp_path):
    gaps = tmp_path / "gaps.csv"
    gaps.write_text(csv.read_text() + "\n,positive\n")
    asked = ("evaluate", "--model", "small", "--data", gaps)
    assert "no text (1)" in run(*asked).stderr
    said = run(*asked, "--skip-bad-rows").stdout
    assert f"{gaps}: 1 of " in said
    assert " rows are left out: no text (1). The first: line " in said
    assert "1 blank row is skipped." in said


def test_five_labels_are_trained_with_a_preset_for_two(run, models_folder, tmp_path):
    data, out = tmp_path / "stars.csv", tmp_path / "stars"
    data.write_text("text,label\n" + "".join(f"film {i} has {i % 5},{i % 5}\n" for i in range(100)))
    sizes = ["d_model=16", "num_heads=2", "output=sigmoid"]
    done = run(
        *("train", "--preset", "single-block", "--data", data, "--out", out),
        *("--set", *sizes, "--epochs", 1),
    )
    assert done.returncode == 0, done.stderr
    config = store.read_model(out).config
    assert (config.output, config.labels) == ("softmax", ("0", "1", "2", "3", "4"))


def test_a_name_alone_puts_the_trained_model_on_the_shelf(run, models_folder, tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("text,label\n" + "".join(f"good {i},1\nbad {i},0\n" for i in range(40)))
    sizes = ["d_model=16", "num_heads=2"]
    train = ("train", "--preset", "single-block", "--data", data, "--out", "named", "--set", *sizes)
    done = run(*train, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    command = json.loads((models_folder / "named" / "card.json").read_text())["command"]
    assert "--data rows.csv --out named --set" in command
    refused = run(*train)
    assert refused.returncode == 2
    assert "named exists already" in refused.stderr
    shutil.rmtree(models_folder / "named")


@pytest.mark.parametrize(
    ("called", "program"),
    [
        ("/home/ann/.local/bin/transformer-viz", "transformer-viz"),
        ("transformer-viz.exe", "transformer-viz"),
        ("/home/ann/transformer_viz/__main__.py", "python -m transformer_viz"),
    ],
)
def test_help_and_mistakes_name_the_program_as_it_was_called(
    models_folder, capsys, monkeypatch, called, program
):
    monkeypatch.setattr(sys, "argv", [called])
    with pytest.raises(SystemExit):
        main(["runs", "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: {program} runs ")
    assert shown.endswith(f"\nexample:\n  {program} runs\n")
    assert main(["predict", "--model", "missing", "--text", "a"]) == 2
    assert capsys.readouterr().err.startswith(
        f"{program.removeprefix('python -m ')} predict: There is no model"
    )


def test_a_decoder_learns_running_text_from_several_files_and_is_measured_on_texts(
    run, models_folder, tmp_path
):
    for name in ("first", "second", "test"):
        lines = [f"The {name} film, number {i}, was good." for i in range(30)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    first, second, test = (tmp_path / f"{name}.txt" for name in ("first", "second", "test"))
    out = models_folder / "writes"
    done = run(
        *("train", "--preset", "gpt-mini", "--data", first, second, "--test", test, "--out", out, "--pack"),
        *("--set", "d_model=16", "num_heads=2", "num_layers=1", "max_len=32", "--epochs", 1),
    )
    assert done.returncode == 0, done.stderr
    assert "test perplexity" in done.stdout
    command = json.loads((out / "card.json").read_text())["command"]
    assert "--data first.txt second.txt --test test.txt --out models/writes --pack" in command
    measured = run("evaluate", "--model", "writes", "--data", test)
    assert measured.returncode == 0, measured.stderr
    assert "texts           30\n" in measured.stdout
    for name in ("perplexity", "bits per byte", "token accuracy", "uniform attention", "heads set to zero"):
        assert name in measured.stdout
    shutil.rmtree(out)


def test_a_writer_is_fine_tuned_to_a_classifier_of_the_labels_in_a_file(run, models_folder, tmp_path):
    texts, data = tmp_path / "texts.txt", tmp_path / "rows.csv"
    texts.write_text("\n".join(f"The film, number {i}, was good." for i in range(30)))
    data.write_text("text,label\n" + "".join(f"good {i},yes\nbad {i},no\n" for i in range(40)))
    sizes = ["d_model=16", "num_heads=2", "num_layers=2", "max_len=16"]
    written = tmp_path / "writes"
    done = run(
        *("train", "--preset", "gpt-mini", "--data", texts, "--out", written, "--pack", "--set", *sizes),
        *("--epochs", 1, "--tokens", "bpe"),
    )
    assert done.returncode == 0, done.stderr
    tune = ("train", "--from", written, "--data", data, "--out", "chooses", "--trainable-layers", 1)
    done = run(*tune, "--epochs", 1, "--set", "dropout=0.2")
    assert done.returncode == 0, done.stderr
    stored = store.read_model("chooses", models_folder)
    assert (stored.config.labels, stored.config.dropout) == (("no", "yes"), 0.2)
    assert stored.config.max_len == 16
    assert stored.card["parent"]["name"] == "writes"
    assert stored.card["command"].startswith(
        "python -m transformer_viz train --from models/writes --data rows.csv --out chooses"
    )
    assert "preset" not in stored.card
    refused = run(*tune, "--tokens", "words")
    assert refused.returncode == 2
    assert (
        "--from keeps the tokenizer of the model. Leave --tokens, --target-tokens and --keep-case out."
        in refused.stderr
    )
    shutil.rmtree(models_folder / "chooses")


def test_doctor_finds_everything(run, models_folder):
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "tensorflow" in done.stdout
    assert "all is well" in done.stdout


MISTAKES = {
    "There is no model": ("predict", "--model", "missing", "--text", "a"),
    "A model's name has no spaces": ("predict", "--model", "No Name", "--text", "a"),
    "'copy' is all there is to train on. Leave the other --data out.": (
        *("train", "--preset", "vaswani-tiny", "--data", "copy", "x.csv", "--out", "y"),
    ),
    "`pack` is for architecture 'decoder', which reads running text. Leave it out for 'encoder'.": (
        *("train", "--preset", "single-block", "--data", "x.csv", "--out", "y", "--pack"),
    ),
    "`trainable_layers` freezes layers of a trained model. Choose a model to start from, or leave it out.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--trainable-layers", "1"),
    ),
    "The parameters of the parent fix 'num_layers': leave them as they are.": (
        *("train", "--from", "small", "--data", "x.csv", "--out", "y", "--set", "num_layers=5"),
    ),
    "There is no file nothing.csv.": ("evaluate", "--model", "small", "--data", "nothing.csv"),
    "The text has no words. Type at least one.": (
        "trace",
        "--model",
        "small",
        "--text",
        " ",
        "--out",
        "t.npz",
    ),
    "There is no folder nowhere to write t.npz to.": (
        *("trace", "--model", "small", "--text", "a", "--out", "nowhere/t.npz"),
    ),
    "t.txt is no name for a trace: let it end with .npz, for all tensors, or with .csv, for a table": (
        *("trace", "--model", "small", "--text", "a", "--out", "t.txt"),
    ),
    "`target` belongs to an encoder-decoder; this model reads one text.": (
        *("trace", "--model", "small", "--text", "a", "--target", "b", "--out", "t.npz"),
    ),
    "--set takes FIELD=VALUE. Received: 'd_model'.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--set", "d_model"),
    ),
    "A config has no field 'heads'.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--set", "heads=3"),
    ),
    "--limits and --purpose take LANGUAGE=TEXT, with one of the languages en, zh. Received: 'fr=Non'.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--limits", "en=No", "fr=Non"),
    ),
    "--limits and --purpose take LANGUAGE=TEXT, with one of the languages en, zh. Received: 'zh= '.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--limits", "zh= "),
    ),
    "--label-names takes LABEL=NAME. Received: '0'.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--label-names", "0"),
    ),
    "--columns takes ROLE=NAME. Received: 'review'.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--columns", "review"),
    ),
    "`epochs` must be a whole number of at least 1. Received: 0.": (
        *("train", "--preset", "single-block", "--data", "x", "--out", "y", "--epochs", "0"),
    ),
}


@pytest.mark.parametrize(("sentence", "arguments"), MISTAKES.items(), ids=lambda part: part[0][:20])
def test_a_mistake_is_one_sentence_and_status_two(models_folder, capsys, sentence, arguments):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert error.startswith(f"transformer_viz {arguments[0]}: ")


def test_a_name_that_is_nearly_one_of_a_model_is_asked_about(models_folder, capsys):
    assert main(["predict", "--model", "smal", "--text", "a"]) == 2
    assert "Did you mean small? Models in that place: " in capsys.readouterr().err
    assert main(["predict", "--model", "hotel-reviews", "--text", "a"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["cp936", "cp1252", "ascii"])
def test_letters_that_a_code_page_lacks_are_written_as_escapes(models_folder, encoding):
    done = run_process("predict", "--model", "small", "--text", "a 😋 film", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("a \\U0001f60b film\n")


def test_a_mistake_in_a_real_process_prints_no_traceback(models_folder):
    done = run_process("predict", "--model", "missing", "--text", "a")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("transformer_viz predict: There is no model")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", sorted(EXAMPLES))
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert "example: python -m transformer_viz" in " ".join(capsys.readouterr().out.split())


def test_runs_lists_a_broken_run_among_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    job = TrainingJob(config=PRESETS["single-block"], settings=TrainingSettings(), data="parity")
    good, broken = create_run(job), create_run(job)
    (broken.path / "job.json").write_text("")
    with (good.path / "events.jsonl").open("ab") as log:
        log.write(b'{"event": "epoch", "time": 1.0, "step": 1, "epoch": 1, "best": true}\nnull\n\xe6')
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[broken.id, "damaged"], [good.id, "queued"]]
    assert "job.json is empty." in lines[1]
    assert main(["resume", broken.id]) == 2
    assert capsys.readouterr().err == (
        f"transformer_viz resume: The run {broken.id} cannot be resumed: job.json is empty. Delete it.\n"
    )


def test_the_batches_of_a_large_file_are_those_of_the_page(asked, tmp_path):
    data = tmp_path / "large.csv"
    data.write_text("text,label\n" + "".join(f"text number {i},{i % 2}\n" for i in range(6_000)))
    assert asked("--data", data)[0].settings == RECIPES["labels"].for_rows(6_000).training()
