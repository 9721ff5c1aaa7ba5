"""The labels of a file as the names that a model has for them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from transformer_viz.data.files import DataError
from transformer_viz.language import Phrase


def numbered_labels(
    rows: pd.DataFrame, labels: Sequence[str], values: Mapping[str, str], model: str
) -> np.ndarray:
    """Return the numbers of the labels of rows, int (row,); arguments and errors as for `named_labels`.

    Args:
        rows: Rows with a column label.
        labels: Names that the model has.
        values: As for `named_labels`.
        model: As for `named_labels`.
    """
    return pd.Index(labels).get_indexer(named_labels(pd.Series(rows["label"]), labels, values, model))


def named_labels(found: pd.Series, labels: Sequence[str], values: Mapping[str, str], model: str) -> pd.Series:
    """Return the labels of rows by a model's names.

    Args:
        found: Labels as in the file.
        labels: Names that the model has.
        values: Name -> value in the file that the model was trained on, `label_values` of its card.
        model: Its name, for the error.

    Raises:
        DataError: If a label is none of the model's.
    """
    names = {value: name for name, value in values.items()}
    truth = found.map(lambda label: names.get(label, label))
    strange = truth.loc[~truth.isin(labels)]
    if len(strange):
        known = [Phrase("quoted", text=label) for label in (*labels, *names)]
        row, label = int(strange.index[0]) + 1, strange.iloc[0]
        raise DataError("evaluation.label", row=row, label=label, model=model, labels=known)
    return truth
