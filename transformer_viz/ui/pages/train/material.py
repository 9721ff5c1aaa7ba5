"""What is to be learned from, as far as it is known before a training."""

from typing import NamedTuple


class Material(NamedTuple):
    """What is to be learned from, as far as it is known before a training.

    Attributes:
        data: As in `TrainingJob.data`.
        recipe: Name in `RECIPES`.
        rows: How many there are; None: as many as one likes.
        examples: (text, target or None) pairs.
        vocab: Tokens there are.
        tokens: Tokens of a text, in the mean.
        job: Further fields of `TrainingJob`.
        changes: Fields of the config that follow from the data.
    """

    data: str
    recipe: str
    rows: int | None
    examples: list
    vocab: int
    tokens: float
    job: dict
    changes: dict
