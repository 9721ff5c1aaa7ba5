"""Facts about the training data that are known before a run."""

from typing import NamedTuple


class Material(NamedTuple):
    """Training data, as far as they are known before a run.

    Attributes:
        data: As in `TrainingJob.data`.
        recipe: Name in `RECIPES`.
        rows: Number of rows; None: any, for a built-in task.
        examples: (text, target or None) pairs.
        vocab: Vocabulary size.
        tokens: Mean length of a text in tokens.
        job: Further fields of `TrainingJob`.
        changes: Fields of the config that the data determine.
        test_share: Share of the rows on which the finished model is measured; a built-in task has test rows.
        target_vocab: Size of the target's own vocabulary; None: it shares that of the texts.
        target_tokens: Mean length of a target in tokens; None: that of the texts.
    """

    data: str
    recipe: str
    rows: int | None
    examples: list
    vocab: int
    tokens: float
    job: dict
    changes: dict
    test_share: float = 0.0
    target_vocab: int | None = None
    target_tokens: float | None = None
