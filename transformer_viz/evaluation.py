"""How well a classifier does on labelled rows."""

from typing import NamedTuple

import pandas as pd

from transformer_viz.datasets import DataError


class Evaluation(NamedTuple):
    """Figures of a classifier on some rows.

    Attributes:
        rows: How many were read.
        accuracy: Share of them that got their own label.
        by_label: One row for each label: precision, recall, f1 and rows (support).
        confusion: Counts; rows are the true labels, columns the predicted ones.
    """

    rows: int
    accuracy: float
    by_label: pd.DataFrame
    confusion: pd.DataFrame


def evaluate(explorer, rows, *, progress=False) -> Evaluation:
    """Classify labelled rows and count.

    Args:
        explorer: `Explorer`.
        rows: DataFrame with columns text and label; labels are the model's own names, or the values
            that stood for them in its training file.
        progress: Show a progress bar on standard error.

    Returns:
        `Evaluation`; the precision of a label that was never predicted is 0.

    Raises:
        DataError: If a label is not one of the model's.
    """
    names = {value: name for name, value in explorer.card.get("label_values", {}).items()}
    truth = rows["label"].map(lambda label: names.get(label, label))
    strange = truth[~truth.isin(explorer.config.labels)]
    if len(strange):
        known = ", ".join(f"'{label}'" for label in (*explorer.config.labels, *names))
        raise DataError(
            f"Row {strange.index[0] + 1} has the label '{strange.iloc[0]}', which '{explorer.name}' does not "
            f"know. Its labels are {known}."
        )
    predicted = explorer.predict(rows["text"], progress=progress)["label"]
    labels = pd.Index(explorer.config.labels)
    confusion = pd.crosstab(truth.to_numpy(), predicted.to_numpy())
    confusion = confusion.reindex(index=labels, columns=labels, fill_value=0)
    confusion = confusion.rename_axis(index="true", columns="predicted")
    right = pd.Series(confusion.to_numpy().diagonal(), index=labels)
    support, chosen = confusion.sum(axis=1), confusion.sum(axis=0)
    by_label = pd.DataFrame(
        {
            "precision": right / chosen.clip(lower=1),
            "recall": right / support.clip(lower=1),
            "f1": 2 * right / (support + chosen).clip(lower=1),
            "rows": support,
        }
    )
    return Evaluation(len(rows), float(right.sum() / max(len(rows), 1)), by_label, confusion)
