"""Rows of a file beside what a classifier predicts of them."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

WRONG, UNSURE, ALL, CHANGED = "wrong", "unsure", "all", "changed"
"""Which rows are looked at: mistakes, the surest first; all, the least sure first; all, as in the file; those
of which another model says something else, the surest first.
"""


def predicted_rows(
    texts: Sequence[str],
    labels: Sequence[str],
    probs: np.ndarray,
    truth: np.ndarray | None = None,
    other: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return columns text, label if there are any, predicted, probability, that of the predicted label, and
    other if there is another model.

    Args:
        texts: Texts of the rows.
        labels: Names of the labels.
        probs: float (row, label), their probabilities.
        truth: int (row,), numbers of the labels in the file; None: it has none.
        other: int (row,), numbers of the labels that another model predicts; None: there is none.
    """
    names = np.array(labels, dtype=object)
    given = {} if truth is None else {"label": names[truth]}
    columns = {"predicted": names[probs.argmax(axis=1)], "probability": probs.max(axis=1)}
    columns |= {} if other is None else {"other": names[other]}
    return pd.DataFrame({"text": texts} | given | columns)


def written_frame(said: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return what a model that writes says of some rows, from a record for each, the least likely first."""
    return pd.DataFrame(said).sort_values("log_likelihood", kind="stable", ignore_index=True)


def chosen_rows(
    frame: pd.DataFrame, which: str, cell: tuple[str, str] | None = None, word: str = ""
) -> pd.DataFrame:
    """Return some rows of `predicted_rows`, in the order in which they are looked at.

    Args:
        frame: The rows.
        which: `WRONG`, `UNSURE`, `ALL` or `CHANGED`.
        cell: Label in the file and predicted label that they have, all of them; None: any.
        word: A word that they have, all of them, in upper or lower case; "": any.
    """
    kept = np.ones(len(frame), bool)
    if cell is not None:
        kept = (frame["label"] == cell[0]).to_numpy() & (frame["predicted"] == cell[1]).to_numpy()
    elif which == WRONG and not word:
        kept = frame["label"].to_numpy() != frame["predicted"].to_numpy()
    elif which == CHANGED and not word:
        kept = frame["other"].to_numpy() != frame["predicted"].to_numpy()
    if word:
        kept = kept & frame["text"].str.contains(_alone(word), case=False, regex=True).to_numpy()
    rows = frame.iloc[np.flatnonzero(kept)]
    if which == ALL:
        return rows
    return rows.sort_values("probability", ascending=which == UNSURE, kind="stable")


def _alone(word):
    """Return a pattern of a word that is not part of a longer one; Chinese words have no spaces around."""
    is_spaced = re.fullmatch(r"[^\W_\u3400-\u9fff]+", word) is not None
    return rf"\b{re.escape(word)}\b" if is_spaced else re.escape(word)


def with_probabilities(frame: pd.DataFrame, labels: Sequence[str], probs: np.ndarray) -> pd.DataFrame:
    """Return rows with a column prob_LABEL for each label; arguments as for `predicted_rows`."""
    return frame.join(pd.DataFrame(probs, columns=[f"prob_{label}" for label in labels]))
