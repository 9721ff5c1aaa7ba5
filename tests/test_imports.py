"""The two floors never mix: a module imports only from the rows above it in this table."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "transformer_viz"

GROUND = [
    "config",
    "presets",
    "startup",
    "zips",
    "trace",
    "trace_size",
    "interventions",
    "batches",
    "packing",
    "ngrams",
    "cloze",
    "token_kinds",
    "token_rules",
    "token_check",
    "text",
    "datasets",
    "tasks",
    "store",
    "runs",
    "analysis",
    "figures",
    "views",
]
UPPER = [
    "masks",
    "layers",
    "model",
    "forward",
    "explorer",
    "evaluation",
    "perplexity",
    "decode",
    "effects",
    "gradients",
    "training",
]
ROWS = [*GROUND, *UPPER]
BETWEEN = {
    "engine": GROUND,
    "admission": GROUND,
    "trainer": GROUND,
    "ui": [*GROUND, "engine", "trainer"],
    "doctor": [*GROUND, "engine"],
    "notebook": [*GROUND, "ui"],
    "__main__": [*ROWS, "doctor"],
    "__init__": ROWS,
}

LIBRARIES = {
    "config": set(),
    "presets": set(),
    "startup": set(),
    "zips": {"numpy"},
    "trace": {"numpy", "pandas"},
    "trace_size": set(),
    "interventions": {"numpy"},
    "batches": {"numpy"},
    "packing": {"numpy"},
    "ngrams": {"numpy"},
    "cloze": {"numpy"},
    "token_kinds": {"tokenizers"},
    "token_rules": set(),
    "token_check": set(),
    "text": {"numpy", "tokenizers"},
    "datasets": {"numpy", "pandas", "tqdm"},
    "tasks": {"numpy"},
    "store": {"numpy", "psutil", "safetensors"},
    "admission": {"psutil"},
    "runs": {"filelock", "numpy", "psutil"},
    "trainer": set(),
    "analysis": {"numpy"},
    "figures": {"numpy", "plotly"},
    "views": {"numpy"},
    "engine": {"numpy"},
    "doctor": {"psutil"},
    "ui": {"cachetools", "numpy", "psutil", "starlette", "streamlit"},
    "notebook": set(),
}

WITHOUT_KERAS = """
import sys
import transformer_viz, transformer_viz.__main__, transformer_viz.engine, transformer_viz.trainer
import transformer_viz.ui.frame, transformer_viz.ui.server
print(*sorted({"keras", "tensorflow", "torch", "jax"} & sys.modules.keys()))
"""


def run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def modules():
    return sorted((ROOT / PACKAGE).rglob("*.py"))


def room(path):
    """Return the row of the table a file stands in."""
    return path.relative_to(ROOT / PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """Return the dotted name of everything a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_from_the_rows_above_it(path):
    here = room(path)
    allowed = BETWEEN.get(here) or ROWS[: ROWS.index(here)]
    for name in imports(path):
        if name.startswith(f"{PACKAGE}."):
            there = name.split(".")[1]
            assert there in (*allowed, here, "__version__", "PRESETS"), f"{here} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_uses_only_the_libraries_of_its_room(path):
    here = room(path)
    if here not in LIBRARIES:
        return
    used = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {PACKAGE}
    assert used <= LIBRARIES[here]


def test_neither_the_app_nor_the_command_line_imports_keras_before_it_is_needed():
    found = run(WITHOUT_KERAS)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr


def test_what_needs_keras_is_loaded_when_first_touched():
    code = "import sys, transformer_viz as tv; tv.Transformer; print('keras' in sys.modules)"
    found = run(code)
    assert found.stdout.strip() == "True", found.stderr


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    import transformer_viz

    with pytest.raises(AttributeError, match="has no attribute 'Transformr'"):
        transformer_viz.Transformr  # noqa: B018
