"""Labelled texts from a file: read strictly, described, split without leaks."""

import csv
import gzip
import io
import threading
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

MAX_BYTES = 500 * 2**20
"""Largest file that is read, decompressed."""

MAX_CHARS = 1_000_000
"""Longest text."""

MAX_LABELS = 50
"""More labels than this are taken for a mistake."""

FEWEST_ROWS = 10

_FIELD_LIMIT = threading.Lock()
"""The limit of the `csv` module is one for the whole process."""

_FOREIGN = {
    b"PK\x03\x04": "an Excel workbook or a zip archive",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
}


class DataError(ValueError):
    """A file or its rows cannot be used; says where, what is wrong and the way out."""


class DataReport(NamedTuple):
    """What a teacher wants to know of some rows before training on them.

    Attributes:
        rows: How many there are.
        labels: label -> how many rows have it.
        median_chars: Length of the middle text.
        duplicates: Rows whose text stood in an earlier row.
        conflicting: Texts that come with more than one label.
    """

    rows: int
    labels: dict[str, int]
    median_chars: int
    duplicates: int
    conflicting: int


def read_labelled(path) -> pd.DataFrame:
    """Read a CSV of labelled texts, plain or gzip, in UTF-8, and guess nothing.

    Args:
        path: The file; its first line names the columns text and label, in any order.

    Returns:
        Columns text and label, both text as it stands in the file ("NA", "1.0"), in file order.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    frame = _read(path, ("text", "label"))
    labels = frame["label"].nunique()
    if labels > MAX_LABELS:
        raise DataError(
            f"{path} has {labels:,} different labels; more than {MAX_LABELS} are taken for a mistake. "
            "Is `label` the right column?"
        )
    return frame


def read_pairs(path) -> pd.DataFrame:
    """Read a CSV of texts and what a decoder is to make of them; as `read_labelled` in everything else.

    Returns:
        Columns text and target.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    return _read(path, ("text", "target"))


def split_pairs(frame, *, validation=0.1, seed=0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hold out some pairs, no text on both sides; as `split` without labels.

    Raises:
        DataError: If there are too few rows or different texts.
    """
    if len(frame) < FEWEST_ROWS:
        raise DataError(f"There are {len(frame)} rows; training needs at least {FEWEST_ROWS}.")
    random = np.random.default_rng(seed)
    group = frame["text"].str.strip().str.casefold()
    groups = group[~group.duplicated()].to_numpy()
    if len(groups) < 2:
        raise DataError("All rows have the same text; training needs at least two different ones.")
    count = min(len(groups) - 1, max(1, round(validation * len(groups))))
    return _apart(frame, group, random.choice(groups, count, replace=False), random)


def split(frame, *, validation=0.1, seed=0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hold out some rows, the same share of each label, no text on both sides.

    Args:
        frame: Columns text and label.
        validation: Share held out, above 0 and below 1.
        seed: Of the choice.

    Returns:
        The rows to train on and the rows held out, each in random order.

    Raises:
        DataError: If there are too few rows, labels or different texts.
    """
    labels = sorted(frame["label"].unique())
    if len(frame) < FEWEST_ROWS:
        raise DataError(f"There are {len(frame)} rows; training needs at least {FEWEST_ROWS}.")
    if len(labels) < 2:
        raise DataError(f"All rows have the label '{labels[0]}'; training needs at least two labels.")
    random = np.random.default_rng(seed)
    group = frame["text"].str.strip().str.casefold()
    first = ~group.duplicated()
    held_out = set()
    for label in labels:
        groups = group[first & (frame["label"] == label)].to_numpy()
        if len(groups) < 2:
            raise DataError(
                f"The label '{label}' has fewer than two different texts of its own; "
                "add some, or leave its rows out."
            )
        count = min(len(groups) - 1, max(1, round(validation * len(groups))))
        held_out.update(random.choice(groups, count, replace=False))
    return _apart(frame, group, held_out, random)


def describe(frame) -> DataReport:
    """Count what is in some labelled rows."""
    by_text = frame.groupby("text")["label"].nunique()
    return DataReport(
        rows=len(frame),
        labels=dict(sorted(Counter(frame["label"]).items())),
        median_chars=int(frame["text"].str.len().median()) if len(frame) else 0,
        duplicates=int(frame["text"].duplicated().sum()),
        conflicting=int((by_text > 1).sum()),
    )


def _apart(frame, group, held_out, random):
    """Return the rows whose group stays and those whose group is held out, each in random order."""
    order = random.permutation(len(frame))
    is_out = group.isin(held_out).to_numpy()[order]
    return frame.iloc[order[~is_out]], frame.iloc[order[is_out]]


def _read(path, columns):
    """Return the rows of a file with exactly these two columns, as they stand there."""
    path = Path(path)
    stream = io.StringIO(_decoded(path), newline="")
    with _FIELD_LIMIT:
        limit = csv.field_size_limit(MAX_CHARS)
        try:
            rows = _rows(path, csv.reader(stream, strict=True), columns)
        finally:
            csv.field_size_limit(limit)
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def _decoded(path):
    """Return the text of a file, plain or gzip, or say what it is instead."""
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder. Give the path of a CSV file.")
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except DataError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    if len(data) > MAX_BYTES:
        raise DataError(f"{path} has more than {MAX_BYTES // 2**20} MB. Use a part of it.")
    for magic, kind in _FOREIGN.items():
        if data.startswith(magic):
            raise DataError(f"{path} is {kind}, not a CSV. Save the table as CSV (UTF-8).")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:1000]:
        raise DataError(f"{path} is in UTF-16 or is no text. Save it as CSV in UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8. Save the file as CSV in UTF-8.") from None


def _rows(path, reader, columns):
    begin = 1
    try:
        header = next(reader, None)
        _check_header(path, header, columns)
        first, second = map(header.index, columns)
        rows, begin = [], reader.line_num + 1
        for row in reader:
            _check_row(f"{path}, line {reader.line_num}", header, row)
            rows.append((row[first], row[second].strip()))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}, the row that begins in line {begin}: {error}. Is a quote left open, or a text longer "
            f"than {MAX_CHARS:,} characters?"
        ) from None
    if not rows:
        raise DataError(f"{path} has a header but no rows.")
    return rows


def _check_header(path, header, columns):
    if not header:
        raise DataError(f"{path} is empty. Its first line must be: {','.join(columns)}")
    if sorted(header) != sorted(columns):
        raise DataError(
            f"{path} must have exactly the columns {' and '.join(columns)}. Its first line is: "
            f"{', '.join(name[:40] for name in header[:8])}."
        )


def _check_row(place, header, row):
    if not row:
        raise DataError(f"{place} is empty. Remove it.")
    if len(row) != 2:
        raise DataError(
            f"{place}: {len(row)} fields instead of 2. "
            "A text with a comma or a quote in it must stand in quotes."
        )
    for name, value in zip(header, row, strict=True):
        if not value.strip():
            raise DataError(f"{place}: the {name} is empty. Fill it in or remove the row.")
        if "\x00" in value:
            raise DataError(f"{place}: a NUL character. Remove it.")
