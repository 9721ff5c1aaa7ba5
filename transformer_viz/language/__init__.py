"""All user-visible sentences, in English and Chinese."""

from transformer_viz.language.glossary import glossary
from transformer_viz.language.problems import Phrase, Problem, json_reason, sentence_of
from transformer_viz.language.words import (
    LANGUAGES,
    OWN_VARIABLE,
    TAGS,
    Words,
    joined,
    language_here,
    language_of,
)

__all__ = [
    "LANGUAGES",
    "OWN_VARIABLE",
    "TAGS",
    "Phrase",
    "Problem",
    "Words",
    "glossary",
    "joined",
    "json_reason",
    "language_here",
    "language_of",
    "sentence_of",
]
