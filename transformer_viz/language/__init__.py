"""Every sentence that people read, in two languages."""

from transformer_viz.language.problems import Phrase, Problem, sentence_of
from transformer_viz.language.words import LANGUAGES, Words, language_of

__all__ = ["LANGUAGES", "Phrase", "Problem", "Words", "language_of", "sentence_of"]
