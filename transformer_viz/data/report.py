"""Statistics of a data set: rows, labels, duplicates and text lengths."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from transformer_viz.data.splits import Split
from transformer_viz.network.config import UNK_ID
from transformer_viz.text.tokenizer import Tokenizer

Rows = TypeVar("Rows", pd.DataFrame, pd.Series)

_Value = TypeVar("_Value")
PerColumn = _Value | Mapping[str, _Value] | None
"""One value for every column of texts, or column -> value."""


class TextReport(NamedTuple):
    """Statistics of one column of texts; those in tokens are None without a tokenizer.

    Attributes:
        median_chars: Median length in characters; 0 without rows.
        longest_chars: Maximum length in characters.
        median_tokens: Median length in tokens.
        longest_tokens: Maximum length in tokens.
        cut_rows: Texts longer than `max_len`, which are truncated; None without `max_len`.
        cut_share: Their share of the texts, from 0 to 1.
        unknown_share: Share of [UNK] among the tokens of texts the tokenizer was not trained on.
    """

    median_chars: int
    longest_chars: int
    median_tokens: int | None = None
    longest_tokens: int | None = None
    cut_rows: int | None = None
    cut_share: float | None = None
    unknown_share: float | None = None


class DataReport(NamedTuple):
    """Statistics of a data set.

    Attributes:
        rows: Number of rows.
        labels: label -> number of rows; empty without labels.
        duplicates: Rows whose text occurred in an earlier row.
        conflicting: Texts with more than one label or target.
        texts: column ("text", and "target" if there is one) -> `TextReport`.
        sizes: part ("train", "validation", "test") -> rows; empty without parts.
    """

    rows: int
    labels: dict[str, int]
    duplicates: int
    conflicting: int
    texts: dict[str, TextReport]
    sizes: dict[str, int]


def describe(
    frame: pd.DataFrame,
    *,
    tokenizer: PerColumn[Tokenizer] = None,
    max_len: PerColumn[int] = None,
    parts: Split | None = None,
    most: int | None = None,
) -> DataReport:
    """Return the statistics of some rows.

    Args:
        frame: Columns text and label, text and target, or text alone.
        tokenizer: `Tokenizer` of the texts; for pairs also column -> `Tokenizer`.
        max_len: Longest input in tokens; for pairs also column -> number.
        parts: `Split` of the rows: unknown tokens are counted in its validation rows only, since the
            vocabulary is built from the training rows; None: in all rows.
        most: Texts of a column that are tokenised, evenly spaced if there are more; None: all.
    """
    answer = next((name for name in ("label", "target") if name in frame), None)
    columns = [name for name in ("text", "target") if name in frame]
    several = frame.groupby("text", sort=False)[answer].nunique() > 1 if answer else ()
    return DataReport(
        rows=len(frame),
        labels=dict(sorted(Counter(frame["label"]).items())) if answer == "label" else {},
        duplicates=int(frame["text"].duplicated().sum()),
        conflicting=int(np.count_nonzero(several)),
        texts={
            name: _text_report(
                frame[name],
                _of(tokenizer, name),
                _of(max_len, name),
                (frame if parts is None else parts.validation)[name],
                most,
            )
            for name in columns
        },
        sizes={} if parts is None else {name: len(part) for name, part in parts._asdict().items()},
    )


def evenly_spaced(rows: Rows, most: int | None) -> Rows:
    """Return at most so many rows or texts, evenly spaced; None: all."""
    if most is None or len(rows) <= most:
        return rows
    return rows.iloc[np.linspace(0, len(rows) - 1, most).astype(int)]


def _of(value, column):
    return value.get(column) if isinstance(value, Mapping) else value


def _text_report(texts, tokenizer, max_len, unseen, most):
    chars = texts.str.len().to_numpy()
    report = TextReport(_median(chars), int(max(chars, default=0)))
    if tokenizer is None:
        return report
    counted = evenly_spaced(texts, most)
    lengths, _ = _token_counts(counted, tokenizer)
    unseen_lengths, unknown = _token_counts(evenly_spaced(unseen, most), tokenizer)
    report = report._replace(
        median_tokens=_median(lengths),
        longest_tokens=int(max(lengths, default=0)),
        unknown_share=float(unknown.sum() / max(unseen_lengths.sum(), 1)),
    )
    if max_len is None:
        return report
    cut_share = float((lengths > max_len).sum() / max(len(counted), 1))
    return report._replace(cut_rows=round(cut_share * len(texts)), cut_share=cut_share)


def _token_counts(texts, tokenizer):
    """Return the number of tokens of each text, and of unknown ones among them: int (row,)."""
    ids = tokenizer.encode_batch(texts)
    lengths = np.array([len(row) for row in ids], dtype=int)
    return lengths, np.array([int((row == UNK_ID).sum()) for row in ids], dtype=int)


def _median(numbers):
    return int(np.median(numbers)) if len(numbers) else 0
