"""Which words the heads of a first layer without position encodings give most weight to, in every text."""

import functools
from typing import NamedTuple

import numpy as np

from transformer_viz import store
from transformer_viz.analysis import has_fixed_scores, vocabulary_weights
from transformer_viz.language import Words
from transformer_viz.text.foreign import tokenizer_of
from transformer_viz.text.kinds import shown_piece
from transformer_viz.text.tokenizer import visible
from transformer_viz.values.config import MASK_ID
from transformer_viz.values.special import is_spaced

FREQUENT = 2_000
"""Words compared: the first of the vocabulary, which are the most frequent."""

IN_CAPTION = 3
"""Words that a caption names."""

LEAST_RATIO = 2
"""Least weight of the first of them, compared with an average word, for a caption to name them."""


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


def preferences_of(model: str, query: str | None = None) -> tuple[Preferences, ...]:
    """Return the preferences of each head of the first layer, in any text.

    Args:
        model: The model, as in `store.read_model`.
        query: Token that attends; None: all compared words, on average.

    Returns:
        Empty if the scores of two words depend on the text, the query is not in the vocabulary, or the model
        can no longer be read.
    """
    try:
        return _preferences(model, store.stamp(model), query)
    except store.ModelError:
        return ()


@functools.lru_cache(16)
def _preferences(model: str, _stamp: str, query: str | None) -> tuple[Preferences, ...]:
    """Return the preferences; a rewritten model has another stamp."""
    stored = store.read_model(model)
    if not has_fixed_scores(stored.config):
        return ()
    vocabulary = tokenizer_of(stored.config, stored.tokenizer).vocabulary
    marks = {f"[{name}]" for name in ("PAD", "UNK", "START", "END", "MASK")}
    first = {number for number, word in enumerate(vocabulary[: MASK_ID + 1]) if word in marks}
    keys = [number for number in range(min(len(vocabulary), FREQUENT + len(first))) if number not in first]
    queries = keys if query is None else [vocabulary.index(query)] if query in vocabulary else []
    if not keys or not queries:
        return ()
    weights = vocabulary_weights(stored.parameters, stored.config, keys, queries).mean(axis=1)
    spaced = is_spaced(vocabulary)
    names = np.array([visible(shown_piece(vocabulary[number], spaced)) for number in keys], dtype=object)
    orders = np.argsort(-weights, axis=-1, kind="stable")
    return tuple(
        Preferences(tuple(names[order]), tuple(ratios[order].tolist()), len(queries))
        for order, ratios in zip(orders, weights, strict=True)
    )


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
