"""Tokens hidden from a model that is to fill them in (Devlin et al., 2019, section 3.1, "Masked LM")."""

from typing import NamedTuple

import numpy as np

from transformer_viz.values.config import MASK_ID, PAD_ID, START_ID

HIDDEN = 0.15
"""Share of the tokens that are to be filled in."""

AS_MASK, AS_OTHER = 0.8, 0.1
"""Shares of these that stand there as [MASK] and as a token chosen at random; the rest stay as they are."""


class Cloze(NamedTuple):
    """Some rows with gaps.

    Attributes:
        token_ids: int32 (row, position), with some tokens replaced.
        places: int32 (row, gap), the positions to fill in, in rising order.
        answers: int32 (row, gap), the tokens that stood there; [PAD] where a row has fewer gaps than others.
    """

    token_ids: np.ndarray
    places: np.ndarray
    answers: np.ndarray


def with_gaps(token_ids, vocab_size, random) -> Cloze:
    """Return rows with `HIDDEN` of their tokens to be filled in, [START] and [PAD] left alone.

    Args:
        token_ids: int32 (row, position).
        vocab_size: Number of tokens.
        random: `numpy.random.Generator`; the gaps follow from it alone.
    """
    rows, length = token_ids.shape
    most = max(1, round(HIDDEN * length))
    can = ~np.isin(token_ids, (PAD_ID, START_ID))
    counts = np.minimum(np.ceil(HIDDEN * can.sum(axis=1)).astype(int), most)
    drawn = np.where(can, random.random((rows, length)), 2.0)
    places = np.argsort(drawn, axis=1)[:, :most]
    real = np.arange(most) < counts[:, None]
    places = np.sort(np.where(real, places, length), axis=1)
    real = places < length
    places = np.where(real, places, 0)
    answers = np.where(real, np.take_along_axis(token_ids, places, axis=1), PAD_ID)
    fate = random.random((rows, most))
    others = random.integers(MASK_ID + 1, vocab_size, (rows, most))
    shown = np.where(fate < AS_MASK, MASK_ID, np.where(fate < AS_MASK + AS_OTHER, others, answers))
    gapped, row = token_ids.copy(), np.nonzero(real)[0]
    gapped[row, places[real]] = shown[real]
    return Cloze(gapped, places.astype(np.int32), answers.astype(np.int32))
