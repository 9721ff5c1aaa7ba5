import doctest
import importlib

import pytest
from running_app import ROOT

PATHS = [path.relative_to(ROOT) for path in sorted((ROOT / "transformer_viz").rglob("*.py"))]
MODULES = [
    ".".join(path.with_suffix("").parts) for path in PATHS if ">>> " in (ROOT / path).read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_an_example_in_a_docstring_gives_what_stands_below_it(name, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(ROOT / "models"))
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
