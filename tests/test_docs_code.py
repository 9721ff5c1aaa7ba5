"""Every command line and every line of Python in README and documentation, run as written."""

import gzip
import os
import re
import shlex
import shutil
import subprocess

import pytest
from running_app import ROOT

from transformer_viz.cli.main import main
from transformer_viz.cli.program import EXAMPLES

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "en").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [
    (str(page.relative_to(ROOT)), kind, code)
    for page in PAGES
    for kind, code in re.findall(
        r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
]
PYTHON = {
    page: [code for place, kind, code in BLOCKS if kind == "python" and place == page]
    for page in dict.fromkeys(place for place, kind, _ in BLOCKS if kind == "python")
}
COMMANDS = list(
    dict.fromkeys(
        line
        for _, kind, code in BLOCKS
        if not kind
        for line in code.splitlines()
        if line.startswith("transformer-viz ")
    )
)
HUB = "hf:"
"""What stands before the name of a model that is fetched from the hub."""

ELSEWHERE = {"fetch", "resume", "stop"}
"""Commands that need a network or a run that is going on."""

TORCH = os.environ.get("TORCH")
"""A Python that has torch and transformers, for the examples with them: `make docs-check TORCH=...`."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the files that the pages name, and a shelf with the included models they name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "runs"))
    for name in ("imdb-sentiment", "reviews-next", "induction", "reverse-digits"):
        shutil.copytree(ROOT / "models" / name, tmp_path / "models" / name)
    rows = [
        f"a {word} film number {i},{label}" for i in range(40) for word, label in (("good", 1), ("bad", 0))
    ]
    (tmp_path / "reviews.csv").write_text("review,sentiment\n" + "\n".join(rows))
    with gzip.open(tmp_path / "test.csv.gz", "wt") as file:
        file.write("review,sentiment\nlovely,1\nawful,0\n")
    (tmp_path / "new.csv").write_text("review\na fine film\na dull one\n")
    words = ("1 the _ DET _ _ 2 det _ _", "2 film _ NOUN _ _ 3 nsubj _ _", "3 was _ VERB _ _ 0 root _ _")
    sentence = "\n".join(word.replace(" ", "\t") for word in words)
    (tmp_path / "treebank.conllu").write_text(f"{sentence}\n\n" * 60)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("\n".join(f"{name} has line {i} of text" for i in range(40)))
    return tmp_path


def test_every_command_line_does_what_it_says(folder, capsys):
    said = [shlex.split(line, comments=True)[1:] for line in COMMANDS]
    commands = [each for each in said if each[0] not in ELSEWHERE and HUB not in " ".join(each)]
    assert {command[0] for command in said} == {*EXAMPLES}
    for command in commands:
        short = ["--epochs", "1", "--overwrite"] if command[0] == "train" else []
        status = main([*command, *short])
        assert (command, status, capsys.readouterr().err * status) == (command, 0, "")
    assert (folder / "t.npz").is_file()
    trained = {place.name for place in (folder / "models").iterdir()}
    assert {"my-model", "my-writer", "my-classifier"} < trained


@pytest.mark.parametrize("page", PYTHON)
def test_every_line_of_python_runs(page):
    known = {}
    for code in PYTHON[page]:
        if "transformers" not in code:
            exec(code, known)
    assert known


@pytest.mark.skipif(not TORCH, reason="TORCH names no Python with torch and transformers")
@pytest.mark.parametrize("page", [page for page, codes in PYTHON.items() if "transformers" in "".join(codes)])
def test_every_line_with_transformers_runs(page, folder):
    done_by(str(ROOT / "tests" / "elsewhere" / "make_small_bert.py"), str(folder))
    codes = [code for code in PYTHON[page] if "transformers" in code]
    done_by("-c", "\n".join(["import transformer_viz as tv", *codes]))


def done_by(*arguments):
    """Run the Python that has torch; it must not fail."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [TORCH, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr * done.returncode) == (0, "")


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_every_target_of_make_exists():
    text = "".join(page.read_text(encoding="utf-8") for page in (*PAGES, ROOT / "CONTRIBUTING.md"))
    targets = sorted(set(re.findall(r"\bmake ([a-z-]+)(?=`|$| ARGS| +#)", text, re.MULTILINE)))
    assert {"app", "test", "lint", "bench", "docs"} <= set(targets)
    done = subprocess.run(
        ["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
