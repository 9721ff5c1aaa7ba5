"""Sentences of some texts: what a model for long texts is asked about on a page is mostly one."""

from collections.abc import Sequence

import numpy as np

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.text.sentences import one_sentence
from transformer_viz.values.head_roles import LONGER


def short_texts(explorer: Explorer, texts: Sequence[str]) -> list[str]:
    """Return a random sentence of each text, always the same one, as `one_sentence`.

    None at all if the texts are hardly longer: their median number of tokens is below `LONGER` times that of
    the sentences.
    """
    random = np.random.default_rng(0)
    sentences = [one_sentence(text, random) for text in texts]
    whole, short = (median_tokens(explorer.encode(each)) for each in (texts, sentences))
    return sentences if whole >= LONGER * short else []


def median_tokens(token_ids: Sequence[np.ndarray]) -> int:
    """Return the median number of tokens of some texts; 0 if there are none."""
    return round(float(np.median([len(ids) for ids in token_ids]))) if len(token_ids) else 0
