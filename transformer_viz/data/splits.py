"""Splits into training, validation and test rows without a text on two sides."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.files import DataError
from transformer_viz.language import Phrase, Problem

FEWEST_ROWS = 10


class Split(NamedTuple):
    """Rows in random order; `test` is empty unless requested."""

    train: pd.DataFrame
    validation: pd.DataFrame
    test: pd.DataFrame


def split(frame: pd.DataFrame, *, validation: float = 0.1, test: float = 0.0, seed: int = 0) -> Split:
    """Split labelled rows, stratified by label, with no text on two sides.

    Args:
        frame: Columns text and label; with a column group (say, the film a review is about), no group is on
            two sides either.
        validation: Validation share, above 0 and below 1.
        test: Test share; 0: none.
        seed: Of the random choice.

    Returns:
        `Split`; every label is in each part.

    Raises:
        DataError: If there are too few rows, labels or different texts.
    """
    _check_rows(frame)
    labels = sorted(frame["label"].unique())
    if len(labels) < 2:
        raise DataError("parts.one_label", label=labels[0])
    group, first = _groups(frame)
    owner = _owners(frame, group, first)
    strata = [group[first][owner == label] for label in labels]
    parts = _apart(frame, group, strata, (validation, test), seed)
    for part in parts if test else parts[:2]:
        lacking = [label for label in labels if not (part["label"] == label).any()]
        if lacking:
            least = Phrase(f"three.{_unit(frame)}" if test else f"two.{_unit(frame)}")
            raise DataError("parts.rare_label", label=lacking[0], least=least)
    return parts


def without_rare_labels(frame: pd.DataFrame, path: str = "", *, test: bool) -> tuple[pd.DataFrame, BadRows]:
    """Return the rows without those whose label has too few texts of its own to be in each part.

    Args:
        frame: Columns text and label, and group if there is one.
        path: Origin of the rows, for errors.
        test: Whether there is a test part besides training and validation.

    Returns:
        The other rows, and what is left out.

    Raises:
        DataError: If there are too few rows for any label.
    """
    _check_rows(frame)
    bad, kept = BadRows(path, rows=len(frame)), frame
    while len(kept):
        group, first = _groups(kept)
        texts = Counter(_owners(kept, group, first))
        rare = np.array([texts[label] < 2 + test for label in kept["label"]])
        if not rare.any():
            break
        for label, text in zip(kept["label"][rare], kept["text"][rare], strict=True):
            bad.add("rare", 0, (label, text))
        kept = kept.loc[~rare]
    return kept, bad


def split_pairs(frame: pd.DataFrame, *, validation: float = 0.1, test: float = 0.0, seed: int = 0) -> Split:
    """Split pairs, with no text on two sides; as `split` without labels.

    Raises:
        DataError: If there are too few rows or different texts.
    """
    _check_rows(frame)
    group, first = _groups(frame)
    if first.sum() < 2:
        raise DataError(f"parts.one.{_unit(frame)}")
    if test and first.sum() < 3:
        raise DataError("parts.no_third", two=Phrase(f"two.{_unit(frame)}"))
    return _apart(frame, group, [group[first]], (validation, test), seed)


def split_texts(frame: pd.DataFrame, *, validation: float = 0.1, test: float = 0.0, seed: int = 0) -> Split:
    """Split texts, none on two sides; as `split_pairs`."""
    return split_pairs(frame, validation=validation, test=test, seed=seed)


def text_keys(frame: pd.DataFrame) -> pd.Index:
    """Return the text of each row without outer spaces and case: rows with one key have the same text."""
    return pd.Index(frame["text"].str.strip().str.casefold())


def _check_rows(frame):
    if len(frame) < FEWEST_ROWS:
        raise DataError("parts.rows", count=len(frame), least=FEWEST_ROWS)


def _unit(frame):
    """Return "groups" or "texts", the end of a phrase's code: what each part must have several of."""
    return "groups" if "group" in frame else "texts"


def _groups(frame):
    """Return the group number of each row, and whether the row is the first of its group.

    Rows with the same text (ignoring case and outer spaces) or the same group belong together.
    """
    group = pd.factorize(text_keys(frame))[0]
    if "group" in frame:
        group = _joined(group, pd.factorize(frame["group"])[0])
    return group, ~pd.Series(group).duplicated().to_numpy()


def _owners(frame, group, first):
    """Return the label by which each group is stratified, in the order of their first rows.

    Of a text with several labels it is the first; of a named group the rarest, since the others are in many
    other groups as well.
    """
    if "group" not in frame:
        return frame["label"].to_numpy()[first]
    counts = frame["label"].map(frame["label"].value_counts()).to_numpy()
    order = np.argsort(counts, kind="stable")
    rarest = pd.Series(frame["label"].to_numpy()[order]).groupby(group[order]).first()
    return rarest.loc[group[first]].to_numpy()


def _joined(first, second):
    """Return the smallest number connected to each row through rows that share either number."""
    joined, before = first.copy(), None
    while before is None or (joined != before).any():
        before = joined
        for key in (first, second):
            joined = pd.Series(joined).groupby(key).transform("min").to_numpy()
    return joined


def _apart(frame, group, strata, shares, seed):
    """Draw groups of each stratum for validation and test, and return the rows of each side."""
    validation, test = shares
    if not (0 < validation < 1 and 0 <= test < 1 and validation + test < 1):
        raise Problem("splits.shares", validation=str(validation), test=str(test))
    random, side = np.random.default_rng(seed), np.zeros(group.max() + 1, dtype=int)
    for groups in strata:
        chosen = random.choice(groups, _count(validation, groups, 1 + bool(test)), replace=False)
        side[chosen] = 1
        if test:
            rest = groups[~np.isin(groups, chosen)]
            side[
                random.choice(rest, _count(test * len(groups) / max(len(rest), 1), rest, 1), replace=False)
            ] = 2
    order = random.permutation(len(frame))
    sides = side[group[order]]
    return Split(*(frame.iloc[order[sides == part]] for part in range(3)))


def _count(share, groups, kept):
    """Return the number of groups to draw: the share, at least one, but leaving `kept` of them."""
    return max(0, min(len(groups) - kept, max(1, round(share * len(groups)))))
