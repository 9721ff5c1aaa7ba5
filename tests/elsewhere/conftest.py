"""Folders of models of the hub that a test may damage, and models that run op by op."""

import functools
import shutil
from pathlib import Path

import pytest
from recorded import HERE

import transformer_viz as tv
from transformer_viz.explorer.forward import CompiledFunction


@pytest.fixture
def copied(tmp_path):
    """Copy the folder of a recorded model, by its name."""

    def copy(name):
        return Path(shutil.copytree(HERE / "models" / name, tmp_path / name))

    return copy


@pytest.fixture(scope="module")
def opened():
    """Open a folder, each once."""
    return functools.cache(tv.load)


@pytest.fixture
def no_graphs(monkeypatch):
    """Run all functions op by op: a graph takes longer to compile than a few texts to trace."""
    monkeypatch.setattr(CompiledFunction, "_graph", property(lambda self: self._function.python_function))


@pytest.fixture
def uncompiled(opened, no_graphs):
    """Open a folder, each once; no graph is compiled while the test runs."""
    return opened
