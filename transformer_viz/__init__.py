"""Train a Keras Transformer, type a sentence, and see what every attention head does.

Importing the package is instant and takes NumPy and pandas alone: what needs more, such as Keras, is loaded
on first use, and says which extra brings it if it is not installed.
"""

import importlib
from typing import TYPE_CHECKING, Any

from transformer_viz.extras import MODELS, needs
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.network.startup import import_with_keras
from transformer_viz.network.tensors import Intervention
from transformer_viz.questions.roles.head_roles import HeadRoles
from transformer_viz.questions.roles.head_survey import HeadSurvey
from transformer_viz.trace.comparison import Comparison, compare
from transformer_viz.trace.interventions import ActivationPatch
from transformer_viz.trace.request import Changes, Request
from transformer_viz.trace.trace import Trace
from transformer_viz.version import __version__ as __version__

__all__ = [
    "PRESETS",
    "ActivationPatch",
    "AttentionHistory",
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
    "AttentionHistory": "explorer.attention_history",
    "Explorer": "explorer.explorer",
    "Transformer": "network.model",
    "attention_of": "explorer.attention_of",
    "effects": "questions.effects.measure",
    "gradients": "explorer.gradients",
    "head_effects": "questions.effects.heads",
    "head_roles": "questions.roles.measure",
    "head_survey": "questions.roles.measure_survey",
    "joint_effect": "questions.effects.heads",
    "load": "store.load",
    "logit_lens": "questions.logit_lens",
    "predict_file": "questions.evaluation.predictions",
    "relation_scores": "questions.relations.measure",
    "typical_words": "questions.roles.measure_words",
    "word_effects": "questions.effects.many_texts",
}

_ON_FIRST_USE = {
    "read_treebank": "data.treebank",
    "show": "pictures.notebook",
    "word_attention": "pictures.looks",
}

if TYPE_CHECKING:
    from transformer_viz.data.treebank import read_treebank
    from transformer_viz.explorer.attention_history import AttentionHistory
    from transformer_viz.explorer.attention_of import attention_of
    from transformer_viz.explorer.explorer import Explorer
    from transformer_viz.explorer.gradients import gradients
    from transformer_viz.network.model import Transformer
    from transformer_viz.pictures.looks import word_attention
    from transformer_viz.pictures.notebook import show
    from transformer_viz.questions.effects.heads import head_effects, joint_effect
    from transformer_viz.questions.effects.many_texts import word_effects
    from transformer_viz.questions.effects.measure import effects
    from transformer_viz.questions.evaluation.predictions import predict_file
    from transformer_viz.questions.logit_lens import logit_lens
    from transformer_viz.questions.relations.measure import relation_scores
    from transformer_viz.questions.roles.measure import head_roles
    from transformer_viz.questions.roles.measure_survey import head_survey
    from transformer_viz.questions.roles.measure_words import typical_words
    from transformer_viz.store.load import load
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
                return getattr(import_with_keras(_NEEDS_KERAS[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
