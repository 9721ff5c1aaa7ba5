"""What somebody wants to know of some rows before training on them, counted."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer_viz.values.config import UNK_ID


class TextReport(NamedTuple):
    """One column of texts; what needs a tokenizer is None without one.

    Attributes:
        median_chars: Length of the middle text; 0 if there are no rows.
        longest_chars: Length of the longest.
        median_tokens: The same in tokens.
        longest_tokens: The same in tokens.
        cut_rows: Texts longer than `max_len`, which lose something; None if it was not given.
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
    """Some rows.

    Attributes:
        rows: How many there are.
        labels: label -> how many rows have it; empty if there are no labels.
        duplicates: Rows whose text stood in an earlier row.
        conflicting: Texts that come with more than one label or target.
        texts: column ("text", and "target" if there is one) -> `TextReport`.
        sizes: part ("train", "validation", "test") -> rows; empty without parts.
    """

    rows: int
    labels: dict[str, int]
    duplicates: int
    conflicting: int
    texts: dict[str, TextReport]
    sizes: dict[str, int]


def describe(frame, *, tokenizer=None, max_len=None, parts=None, most=None) -> DataReport:
    """Count what is in some rows.

    Args:
        frame: Columns text and label, text and target, or text alone.
        tokenizer: `Tokenizer` of the texts; for pairs also column -> `Tokenizer`.
        max_len: Most tokens that are read of a text; for pairs also column -> number.
        parts: `Split` of the rows: unknown tokens are counted in its validation rows alone, since the
            vocabulary is that of the training rows; without it, in all.
        most: Texts of a column whose tokens are counted: of more, so many that are evenly spread; None: all.
    """
    answer = next((name for name in ("label", "target") if name in frame), None)
    columns = [name for name in ("text", "target") if name in frame]
    conflicting = (frame.groupby("text", sort=False)[answer].nunique() > 1).sum() if answer else 0
    return DataReport(
        rows=len(frame),
        labels=dict(sorted(Counter(frame["label"]).items())) if answer == "label" else {},
        duplicates=int(frame["text"].duplicated().sum()),
        conflicting=int(conflicting),
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


def evenly_spaced(rows, most):
    """Return so many rows or texts, evenly spread over all of them; all if there are fewer, or for None."""
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
    """Return how many tokens each text has, and how many of them are unknown: int (row,)."""
    whole = int(texts.str.len().max() or 1) * 4 if len(texts) else 1
    ids = tokenizer.encode_batch(texts, max_len=whole)
    lengths = np.array([len(row) for row in ids], dtype=int)
    return lengths, np.array([int((row == UNK_ID).sum()) for row in ids], dtype=int)


def _median(numbers):
    return int(np.median(numbers)) if len(numbers) else 0
