"""The types an editor shows for the names of the package."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TYPES = {
    'tv.load("x")': "Explorer",
    'tv.load("x").trace("y")': "Trace",
    'tv.load("x").trace("y").encoder[0].attention': "AttentionTrace",
    'tv.load("x").generate("y")': "Generation",
    'tv.load("x").predict(["y"])': "DataFrame",
    'list(tv.head_effects(tv.load("x"), "y"))': "list[str]",
    'tv.gradients(tv.load("x"), "y", output=0)': "Gradients",
    'tv.show(tv.load("x").trace("y"))': "Page",
    'tv.Transformer(tv.PRESETS["gpt-mini"]).config': "TransformerConfig",
    'tv.Trace.load("y.npz")': "Trace",
    'tv.word_attention(tv.load("x").trace("y"))': "dict[str, Attentions]",
}
"""Expression -> its type."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return line -> reports of the type checker on the expressions above, each on its own line."""
    file = tmp_path_factory.mktemp("types") / "snippet.py"
    lines = [f"reveal_type({expression})" for expression in TYPES]
    file.write_text("\n".join(["import transformer_viz as tv", *lines, "tv.Transformr"]))
    checker = [sys.executable, "-m", "basedpyright", "--outputjson", str(file)]
    found = subprocess.run(checker, capture_output=True, text=True, cwd=ROOT, check=False)
    reports = {}
    for report in json.loads(found.stdout)["generalDiagnostics"]:
        reports.setdefault(report["range"]["start"]["line"], []).append(report)
    return reports


@pytest.mark.parametrize(("line", "expression"), [*enumerate(TYPES, start=1)])
def test_an_expression_has_its_type(reports, line, expression):
    [shown] = [re.search('is "(.*)"$', report["message"])[1] for report in reports[line]]
    assert shown == TYPES[expression]


def test_an_unknown_name_of_the_package_is_a_type_error(reports):
    assert "Transformr" in " ".join(report["message"] for report in reports[len(TYPES) + 1])
