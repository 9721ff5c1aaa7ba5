"""Requests about many texts of a file, which are answered in portions."""

from dataclasses import dataclass
from typing import ClassVar

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr

FIRST_TEXTS = 5_000
"""Texts of a file that a classifier predicts first in the app, and the most in a class."""


@dataclass(frozen=True)
class TextsRequest:
    """A request about many texts.

    Attributes:
        most: Most texts that are asked about at a time in the app.
        model: Name or folder of the model.
        texts: The texts; of those who ask a model that writes, (text, target) pairs, "" being no target.

    Raises:
        ValueError: If there are more.
    """

    most: ClassVar[int]

    model: str
    texts: tuple[str, ...] | tuple[tuple[str, str], ...]

    def __post_init__(self):
        if len(self.texts) > self.most:
            raise Problem("text.many", most=self.most, received=len(self.texts))

    def __repr__(self):
        return short_repr(self)


class ClassesRequest(TextsRequest):
    """A request for the probabilities that a classifier gives to its labels."""

    most = 100_000


class WordEffectsRequest(TextsRequest):
    """A request for what words do to the labels of a classifier."""

    most = 500


class WrittenRequest(TextsRequest):
    """A request for what a translator writes, and how likely a text is to a model that writes."""

    most = 5_000
