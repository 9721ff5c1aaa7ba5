"""Batches of texts of similar length, to keep padding small."""

from collections.abc import Sequence

import numpy as np

from transformer_viz.network.config import PAD_ID

CHUNK = 50
"""Batches that are sorted by length together: a larger chunk pads less, a smaller one shuffles better."""


def pad(token_ids: Sequence[Sequence[int] | np.ndarray], pad_id: int = PAD_ID) -> np.ndarray:
    """Return the rows padded with [PAD] to the length of the longest.

    Args:
        token_ids: One int array for each row, of any length.
        pad_id: Id of [PAD].

    Returns:
        int32 (row, position), with at least one position.
    """
    padded = np.full((len(token_ids), max([1, *map(len, token_ids)])), pad_id, dtype=np.int32)
    for row, ids in zip(padded, token_ids, strict=True):
        row[: len(ids)] = ids
    return padded


def by_length(
    token_ids: Sequence[np.ndarray], batch_size: int, rows: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the row numbers of each batch, longest texts first.

    Args:
        token_ids: One int array for each row.
        batch_size: Rows in a batch; the last one may have fewer.
        rows: Row numbers to batch; None: all.
    """
    rows = np.arange(len(token_ids)) if rows is None else rows
    lengths = np.array([len(token_ids[row]) for row in rows], dtype=int)
    rows = rows[np.argsort(-lengths, kind="stable")]
    return [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]


def shuffled_by_length(
    token_ids: Sequence[np.ndarray], batch_size: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return the row numbers of each batch of one epoch: batches in random order, rows of similar lengths.

    The rows are shuffled and cut into chunks of `CHUNK` batches; each chunk is sorted by length and cut into
    batches, and all batches are shuffled again.

    Args:
        token_ids: One int array for each row.
        batch_size: Rows in a batch.
        random: `numpy.random.Generator`, which determines the order.
    """
    rows = random.permutation(len(token_ids))
    size = CHUNK * batch_size
    chunks = [
        by_length(token_ids, batch_size, rows[start : start + size]) for start in range(0, len(rows), size)
    ]
    batches = [batch for chunk in chunks for batch in chunk]
    random.shuffle(batches)
    return batches
