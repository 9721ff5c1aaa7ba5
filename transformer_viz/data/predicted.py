"""Rows of a file beside what a classifier predicts of them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

WRONG, UNSURE, ALL = "wrong", "unsure", "all"
"""Which rows are looked at: mistakes, the surest first; all, the least sure first; all, as in the file."""


def predicted_rows(
    texts: Sequence[str], labels: Sequence[str], probs: np.ndarray, truth: np.ndarray | None = None
) -> pd.DataFrame:
    """Return columns text, label if there are any, predicted, and probability, that of the predicted label.

    Args:
        texts: Texts of the rows.
        labels: Names of the labels.
        probs: float (row, label), their probabilities.
        truth: int (row,), numbers of the labels in the file; None: it has none.
    """
    names = np.array(labels, dtype=object)
    given = {} if truth is None else {"label": names[truth]}
    columns = {"predicted": names[probs.argmax(axis=1)], "probability": probs.max(axis=1)}
    return pd.DataFrame({"text": texts} | given | columns)


def chosen_rows(frame: pd.DataFrame, which: str, cell: tuple[str, str] | None = None) -> pd.DataFrame:
    """Return some rows of `predicted_rows`, in the order in which they are looked at.

    Args:
        frame: The rows.
        which: `WRONG`, `UNSURE` or `ALL`.
        cell: Label in the file and predicted label that they have, all of them; None: any.
    """
    kept = np.ones(len(frame), bool)
    if cell is not None:
        kept = (frame["label"] == cell[0]).to_numpy() & (frame["predicted"] == cell[1]).to_numpy()
    elif which == WRONG:
        kept = frame["label"].to_numpy() != frame["predicted"].to_numpy()
    rows = frame.iloc[np.flatnonzero(kept)]
    if which == ALL:
        return rows
    return rows.sort_values("probability", ascending=which == UNSURE, kind="stable")


def with_probabilities(frame: pd.DataFrame, labels: Sequence[str], probs: np.ndarray) -> pd.DataFrame:
    """Return rows with a column prob_LABEL for each label; arguments as for `predicted_rows`."""
    return frame.join(pd.DataFrame(probs, columns=[f"prob_{label}" for label in labels]))
