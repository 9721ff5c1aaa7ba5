"""Every sentence that people read, in two languages."""

from transformer_viz.language.words import LANGUAGES, Words

__all__ = ["LANGUAGES", "Words"]
