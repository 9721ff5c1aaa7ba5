"""The models of the shelf, each loaded and compiled once in a process of tests.

Beside them there is `hotel-zh` in `tests/models`, small and quick: one layer of four heads that reads
characters, with sinusoidal positions.
"""

import functools
from pathlib import Path

from running_app import ROOT

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.store.load import load


def place_of(name: str) -> Path:
    """Return the folder of a model of the shelf, or of `tests/models`."""
    shelf = ROOT / "models" / name
    return shelf if shelf.exists() else ROOT / "tests" / "models" / name


@functools.cache
def shelved(name: str) -> Explorer:
    """Return the model of the shelf with this name, which tests only read."""
    return load(place_of(name))
