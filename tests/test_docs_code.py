"""Every command line and every line of Python in the README, run as written."""

import gzip
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
from running_app import ROOT

from transformer_viz.cli.main import main

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
LINES = next(code for _, code in BLOCKS if "transformer-viz models" in code).splitlines()
COMMANDS = [shlex.split(line, comments=True)[1:] for line in LINES]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the files that the README names, and a shelf with its models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    for name in ("imdb-sentiment", "reviews-next"):
        shutil.copytree(ROOT / "models" / name, tmp_path / "models" / name)
    rows = [
        f"a {word} film number {i},{label}" for i in range(40) for word, label in (("good", 1), ("bad", 0))
    ]
    (tmp_path / "reviews.csv").write_text("review,sentiment\n" + "\n".join(rows))
    with gzip.open(tmp_path / "test.csv.gz", "wt") as file:
        file.write("review,sentiment\nlovely,positive\nawful,negative\n")
    words = ("1 the _ DET _ _ 2 det _ _", "2 film _ NOUN _ _ 3 nsubj _ _", "3 was _ VERB _ _ 0 root _ _")
    sentence = "\n".join(word.replace(" ", "\t") for word in words)
    (tmp_path / "treebank.conllu").write_text(f"{sentence}\n\n" * 60)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("\n".join(f"{name} has line {i} of text" for i in range(40)))
    return tmp_path


def test_every_command_line_does_what_it_says(folder, capsys):
    assert COMMANDS[0] == []  # opens the app
    assert {command[0] for command in COMMANDS[1:]} >= {"models", "predict", "trace", "train", "generate"}
    for command in COMMANDS[1:]:
        small = ["--rows", "64"] if "reverse" in command else []
        status = main([*command, *small, *(["--epochs", "1"] if command[0] == "train" else [])])
        assert (command, status, capsys.readouterr().err * status) == (command, 0, "")
    assert (folder / "t.npz").is_file()
    assert {"my-reverse", "my-model", "my-writer"} < {place.name for place in (folder / "models").iterdir()}


def test_every_line_of_python_runs(folder):
    known = {"mask": np.tri(6, dtype=bool)}
    for language, code in BLOCKS:
        if language == "python":
            exec(code, known)
    assert known["trace"].tokens == ("[START]", "▁the", "▁film", "▁was", "▁not", "▁good")


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_every_target_of_make_exists():
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = sorted(set(re.findall(r"\bmake ([a-z-]+)(?=`|$| ARGS| +#)", text, re.MULTILINE)))
    assert {"app", "test", "lint", "bench"} <= set(targets)
    done = subprocess.run(
        ["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
