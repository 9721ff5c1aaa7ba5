"""Which libraries a room uses, and what importing the package loads; `lint-imports` checks the rooms."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "transformer_viz"

LIBRARIES = {
    "language": set(),
    "network": {"keras", "numpy"},
    "text": {"numpy", "pandas", "rjieba", "tokenizers"},
    "trace": {"numpy", "pandas"},
    "data": {"conllu", "numpy", "pandas", "tqdm"},
    "explorer": {"keras", "numpy", "pandas", "tensorflow", "tqdm"},
    "questions": {"keras", "numpy", "pandas", "sacrebleu", "tensorflow", "tqdm"},
    "store": {"numpy", "platformdirs", "psutil", "safetensors"},
    "lessons": set(),
    "training": {"filelock", "keras", "numpy", "pandas", "psutil", "safetensors", "tensorflow"},
    "pictures": {"markdown_it", "numpy", "plotly"},
    "service": {"cachetools", "numpy", "psutil"},
    "cli": {"packaging", "pandas", "psutil", "tqdm"},
    "ui": {"cachetools", "numpy", "psutil", "starlette", "streamlit"},
}

ALONE = {
    "data/named.py": {"pooch", "requests"},
    "pictures/fonts.py": {"matplotlib"},
    "pictures/static.py": {"matplotlib"},
    "store/load.py": {"tensorflow"},
    "store/hugging_face/hub.py": {"huggingface_hub", "httpx2"},
    "text/sentence_pieces.py": {"google", "sentencepiece"},
}
"""File -> libraries that it alone may use; they are not imported before a model needs them."""

WITHOUT_KERAS = """
import sys
import transformer_viz, transformer_viz.cli.main
import transformer_viz.service.engine, transformer_viz.service.trainer
import transformer_viz.ui.frame, transformer_viz.ui.shell.server
needless = {"keras", "tensorflow", "torch", "jax", "huggingface_hub", "matplotlib"}
print(*sorted(needless & sys.modules.keys()))
"""


def run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def modules():
    return sorted((ROOT / PACKAGE).rglob("*.py"))


def room(path):
    """Return the room a file is in."""
    return path.relative_to(ROOT / PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """Return the dotted name of everything a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_uses_only_the_libraries_of_its_room(path):
    here = room(path)
    if here not in LIBRARIES:
        return
    used = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {PACKAGE}
    own = ALONE.get(path.relative_to(ROOT / PACKAGE).as_posix(), set())
    assert used <= LIBRARIES[here] | own


def test_neither_the_app_nor_the_command_line_imports_keras_before_it_is_needed():
    found = run(WITHOUT_KERAS)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr


def test_what_needs_keras_is_loaded_when_first_touched():
    code = "import sys, transformer_viz as tv; tv.Transformer; print('keras' in sys.modules)"
    found = run(code)
    assert found.stdout.strip() == "True", found.stderr


def test_what_the_package_offers_is_what_it_has():
    found = run("import transformer_viz as tv; print(*dir(tv)); print(tv.store.read_model.__name__)")
    import transformer_viz

    offered, function = found.stdout.splitlines()
    assert set(offered.split()) == {*transformer_viz.__all__, "__version__", "store"}, found.stderr
    assert function == "read_model"
    assert all(hasattr(transformer_viz, name) for name in offered.split())


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    import transformer_viz

    with pytest.raises(AttributeError, match="has no attribute 'Transformr'"):
        transformer_viz.Transformr  # noqa: B018
