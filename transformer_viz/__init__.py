"""Train a Keras Transformer, type a sentence, and see what every attention head does.

Importing the package is instant: what needs Keras is loaded when first touched.
"""

import importlib
import os

from transformer_viz.config import PRESETS, TransformerConfig
from transformer_viz.trace import Intervention, Run, Trace

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "Explorer",
    "Intervention",
    "Run",
    "Trace",
    "Transformer",
    "TransformerConfig",
    "load",
]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # its start-up chatter is not for people

_NEEDS_KERAS = {"Explorer": "explorer", "load": "explorer", "Transformer": "model"}


def __getattr__(name):
    if name not in _NEEDS_KERAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_NEEDS_KERAS[name]}"), name)
