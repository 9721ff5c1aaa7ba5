"""Train a Keras Transformer, type a sentence, and see what every attention head does.

Importing the package is instant and takes NumPy and pandas alone: what needs more, such as Keras, is loaded
on first use, and says which extra brings it if it is not installed.
"""

import importlib
from typing import TYPE_CHECKING, Any

from transformer_viz.network.startup import load_upper_floor
from transformer_viz.values.comparison import Comparison, compare
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.extras import MODELS, needs
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.head_survey import HeadSurvey
from transformer_viz.values.interventions import ActivationPatch
from transformer_viz.values.presets import PRESETS
from transformer_viz.values.request import Changes, Request
from transformer_viz.values.tensors import Intervention
from transformer_viz.values.trace import Trace
from transformer_viz.values.version import __version__ as __version__

__all__ = [
    "PRESETS",
    "ActivationPatch",
    "Changes",
    "Comparison",
    "Explorer",
    "HeadRoles",
    "HeadSurvey",
    "Intervention",
    "Request",
    "Run",
    "Trace",
    "Transformer",
    "TransformerConfig",
    "attention_of",
    "compare",
    "effects",
    "gradients",
    "head_effects",
    "head_roles",
    "head_survey",
    "joint_effect",
    "load",
    "logit_lens",
    "predict_file",
    "read_treebank",
    "relation_scores",
    "show",
    "typical_words",
    "word_attention",
    "word_effects",
]

Run = Request.of
"""Former name of `Request.of`."""

_NEEDS_KERAS = {
    "Explorer": "inspection.explorer",
    "Transformer": "network.model",
    "attention_of": "inspection.attention_of",
    "effects": "questions.effects.measure",
    "gradients": "inspection.gradients",
    "head_effects": "questions.effects.heads",
    "head_roles": "inspection.head_roles",
    "head_survey": "inspection.head_survey",
    "joint_effect": "questions.effects.heads",
    "load": "inspection.load",
    "logit_lens": "inspection.logit_lens",
    "predict_file": "inspection.predictions",
    "relation_scores": "inspection.relations",
    "typical_words": "inspection.typical_words",
    "word_effects": "questions.effects.many_texts",
}

_ON_FIRST_USE = {
    "read_treebank": "data.treebank",
    "show": "pictures.notebook",
    "word_attention": "pictures.looks",
}

if TYPE_CHECKING:
    from transformer_viz.data.treebank import read_treebank
    from transformer_viz.inspection.attention_of import attention_of
    from transformer_viz.inspection.explorer import Explorer
    from transformer_viz.inspection.gradients import gradients
    from transformer_viz.inspection.head_roles import head_roles
    from transformer_viz.inspection.head_survey import head_survey
    from transformer_viz.inspection.load import load
    from transformer_viz.inspection.logit_lens import logit_lens
    from transformer_viz.inspection.predictions import predict_file
    from transformer_viz.inspection.relations import relation_scores
    from transformer_viz.inspection.typical_words import typical_words
    from transformer_viz.network.model import Transformer
    from transformer_viz.pictures.looks import word_attention
    from transformer_viz.pictures.notebook import show
    from transformer_viz.questions.effects.heads import head_effects, joint_effect
    from transformer_viz.questions.effects.many_texts import word_effects
    from transformer_viz.questions.effects.measure import effects
else:  # hidden from type checkers, which would accept every name

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__", "store"])

    def __getattr__(name: str) -> Any:
        with needs(MODELS, f"tv.{name}"):
            if name == "store":
                return importlib.import_module("transformer_viz.store")
            if name in _ON_FIRST_USE:
                return getattr(importlib.import_module(f"transformer_viz.{_ON_FIRST_USE[name]}"), name)
            if name in _NEEDS_KERAS:
                return getattr(load_upper_floor(_NEEDS_KERAS[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
