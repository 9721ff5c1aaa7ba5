"""Masked tokens for masked language modelling (Devlin et al., 2019, section 3.1, "Masked LM")."""

from typing import NamedTuple

import numpy as np

from transformer_viz.network.config import MASK_ID, TransformerConfig

MASKED_SHARE = 0.15
"""Share of the tokens to predict."""

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1
"""Shares of these that are replaced by [MASK] and by a random token; the rest stay unchanged."""


class Cloze(NamedTuple):
    """Rows with masked tokens.

    Attributes:
        token_ids: int32 (row, position), with some tokens replaced.
        positions: int32 (row, gap), the positions to predict, ascending.
        targets: int32 (row, gap), the original tokens; `pad_id` in rows with fewer gaps than others.
    """

    token_ids: np.ndarray
    positions: np.ndarray
    targets: np.ndarray


def mask_tokens(token_ids: np.ndarray, config: TransformerConfig, random: np.random.Generator) -> Cloze:
    """Return rows with `MASKED_SHARE` of their tokens to predict, padding and both ends of texts excluded.

    Args:
        token_ids: int32 (row, position).
        config: Of the model that is to predict them.
        random: `numpy.random.Generator`, which determines the gaps.
    """
    rows, length = token_ids.shape
    most = max(1, round(MASKED_SHARE * length))
    can = ~np.isin(token_ids, (config.pad_id, config.start_id, config.end_id))
    counts = np.minimum(np.ceil(MASKED_SHARE * can.sum(axis=1)).astype(int), most)
    drawn = np.where(can, random.random((rows, length)), 2.0)
    positions = np.argsort(drawn, axis=1)[:, :most]
    real = np.arange(most) < counts[:, None]
    positions = np.sort(np.where(real, positions, length), axis=1)
    real = positions < length
    positions = np.where(real, positions, 0)
    targets = np.where(real, np.take_along_axis(token_ids, positions, axis=1), config.pad_id)
    fate = random.random((rows, most))
    others = random.integers(0 if config.is_foreign else MASK_ID + 1, config.vocab_size, (rows, most))
    unmasked = np.where(fate < MASK_SHARE + RANDOM_SHARE, others, targets)
    shown = np.where(fate < MASK_SHARE, config.mask_id, unmasked)
    gapped, row = token_ids.copy(), np.nonzero(real)[0]
    gapped[row, positions[real]] = shown[real]
    return Cloze(gapped, positions.astype(np.int32), targets.astype(np.int32))
