"""The words that a head prefers in every text, and the request for them."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class PreferenceRequest:
    """A request for the words that each head of the first layer prefers, in any text.

    Attributes:
        model: Name or folder of the model.
        query: Token that attends; None: all compared words, on average.
    """

    model: str
    query: str | None = None


class Preferences(NamedTuple):
    """The words that a head gives most weight to.

    Attributes:
        words: All words compared, from the most weight to the least.
        ratios: The weight of each, compared with an average one; falling.
        queries: Number of words that attended.
    """

    words: tuple[str, ...]
    ratios: tuple[float, ...]
    queries: int
