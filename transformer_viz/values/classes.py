"""What a classifier predicts for many texts: the request for it."""

from dataclasses import dataclass

from transformer_viz.values.one_line import one_line

FIRST_TEXTS = 5_000
"""Texts of a file that are predicted first in the app, and the most in a class."""

MOST_TEXTS = 100_000
"""Most texts that are predicted at a time in the app."""


@dataclass(frozen=True)
class ClassesRequest:
    """A request for the probabilities that a classifier gives to its labels, for many texts.

    Attributes:
        model: Name or folder of the model.
        texts: At most `MOST_TEXTS` texts.

    Raises:
        ValueError: If there are more.
    """

    model: str
    texts: tuple[str, ...]

    def __post_init__(self):
        if len(self.texts) > MOST_TEXTS:
            raise ValueError(f"At most {MOST_TEXTS:,} texts at a time. Received: {len(self.texts):,}.")

    def __repr__(self):
        return one_line(self)
