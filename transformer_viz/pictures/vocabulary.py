"""Sentences about the words that heads prefer in every text."""

from transformer_viz.language import Words
from transformer_viz.questions.preferences.result import Preferences

IN_CAPTION = 3
"""Words that a caption names."""

LEAST_RATIO = 2
"""Least weight of the first of them, compared with an average word, for a caption to name them."""


def preference_texts(words: Words, found: tuple[Preferences, ...]) -> list[str]:
    """Return a sentence about each head for its caption; "" where it prefers no word clearly."""
    return [
        words(
            "vocabulary.caption",
            words=words("list.comma").join(f"“{each}”" for each in named),
            least=f"{head.ratios[len(named) - 1]:.1f}",
            most=f"{head.ratios[0]:.1f}",
        )
        if (named := head.words[:IN_CAPTION]) and head.ratios[0] >= LEAST_RATIO
        else ""
        for head in found
    ]
