"""Sentences of some texts: what a model for long texts is asked about on a page is mostly one."""

from collections.abc import Sequence

import numpy as np

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.head_roles import LONGER
from transformer_viz.text.sentences import some_passages


def short_texts(explorer: Explorer, texts: Sequence[str], count: int = 1) -> list[str]:
    """Return random sentences of each text, always the same ones, as `some_passages`.

    None at all if the texts are hardly longer: their median number of tokens is below `LONGER` times that of
    the sentences.

    Args:
        explorer: `Explorer`.
        texts: The texts.
        count: Most sentences of each; with 1, it is one of each.
    """
    random = np.random.default_rng(0)
    sentences = [passage for text in texts for passage in some_passages(text, count, random)]
    whole, short = (median_tokens(explorer.encode(each)) for each in (texts, sentences))
    return sentences if whole >= LONGER * short else []


def median_tokens(token_ids: Sequence[np.ndarray]) -> int:
    """Return the median number of tokens of some texts; 0 if there are none."""
    return round(float(np.median([len(ids) for ids in token_ids]))) if len(token_ids) else 0
