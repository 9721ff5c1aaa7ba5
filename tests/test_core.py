"""The core shows attention with NumPy and pandas alone; all else names the extra that brings its needs."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent

ALONE = """
import sys

HIDDEN = sys.argv.pop().split(",")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Hides modules, as if they were not installed."""

LOOK = """
import numpy as np
import transformer_viz as tv

layers = [np.full((1, 4, 3, 3), 1 / 3, np.float32)] * 2
tv.show(layers, ["a", "b", "c"]).save("page.html")
tv.Trace, tv.Comparison, tv.TransformerConfig, tv.word_attention
"""

NAMES = {
    "tv.load": "psutil",
    "tv.effects": "keras",
    "tv.store": "psutil",
    "tv.read_treebank": "tokenizers",
}
"""Name -> the first library that it lacks in the core."""


def absent():
    """Return the modules that the core does without, and that are installed here."""
    core, wanted = set(), ["numpy", "pandas"]
    while wanted:
        name = wanted.pop()
        if name in core:
            continue
        core.add(name)
        needed = map(Requirement, metadata.requires(name) or ())
        wanted += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    owners = metadata.packages_distributions()
    return sorted(module for module, names in owners.items() if not core & set(names))


def run(code, folder):
    command = [sys.executable, "-c", ALONE + code, ",".join(absent())]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_arrays_are_shown_with_numpy_and_pandas_alone(tmp_path):
    found = run(LOOK, tmp_path)
    assert not found.stderr
    assert (tmp_path / "page.html").stat().st_size > 100_000


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_which_extra_brings_what_it_needs(name, tmp_path):
    found = run(f"import transformer_viz as tv\n{name}", tmp_path)
    assert found.stderr.splitlines()[-1].partition(": ")[2] == (
        f'`{name}` needs {NAMES[name]}, which is not installed: pip install "transformer-viz[models]"'
    )


def test_the_command_says_so_in_the_language_that_is_asked_for(tmp_path):
    code = "sys.argv += ['models', '--lang', 'zh']\nfrom transformer_viz.__main__ import main\nmain()"
    assert "，但它没有安装：pip install" in run(code, tmp_path).stderr


def test_the_command_says_that_it_comes_with_the_app(tmp_path):
    found = run("from transformer_viz.__main__ import main\nsys.exit(main())", tmp_path)
    assert found.returncode == 2
    assert 'which is not installed: pip install "transformer-viz[app]"' in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("versions", [("numpy==1.26.*", "pandas==2.0.*"), ("numpy", "pandas")])
def test_the_oldest_and_the_newest_versions_show_arrays(tmp_path, versions):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *versions, ROOT], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([python, "-c", LOOK], cwd=tmp_path, env=environment, check=True)
