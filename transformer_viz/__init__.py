"""Train a Keras Transformer, type a sentence, and see what every attention head does.

Importing the package is instant: what needs Keras is loaded when first touched.
"""

import importlib

from transformer_viz.config import TransformerConfig
from transformer_viz.interventions import ActivationPatch
from transformer_viz.presets import PRESETS
from transformer_viz.startup import load_upper_floor
from transformer_viz.trace import Intervention, Run, Trace

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "ActivationPatch",
    "Explorer",
    "Intervention",
    "Run",
    "Trace",
    "Transformer",
    "TransformerConfig",
    "gradients",
    "head_effects",
    "load",
    "show",
]


_NEEDS_KERAS = {
    "Explorer": "explorer",
    "Transformer": "model",
    "gradients": "gradients",
    "head_effects": "effects",
    "load": "explorer",
}


def __getattr__(name):
    if name == "show":
        return importlib.import_module("transformer_viz.notebook").show
    if name not in _NEEDS_KERAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load_upper_floor(_NEEDS_KERAS[name]), name)
