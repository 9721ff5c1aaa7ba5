"""The models of the shelf, each loaded and compiled once in a process of tests."""

import functools

from running_app import ROOT

from transformer_viz.inspection.explorer import Explorer, load


@functools.cache
def shelved(name: str) -> Explorer:
    """Return the model of the shelf with this name, which tests only read."""
    return load(ROOT / "models" / name)
