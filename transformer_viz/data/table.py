"""The table that every reader returns, and its limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from transformer_viz.data.encodings import UTF_8
from transformer_viz.data.files import DataError, line_reference

MAX_CHARS = 1_000_000
"""Characters of the longest text."""

MAX_COLUMNS = 200
"""Most columns."""

MAX_ROWS = 5_000_000
"""Most rows."""

PORTION = 500
"""Rows read at a time: with larger portions Python's garbage collector promotes the new objects and
repeatedly scans all earlier ones."""


class Table(NamedTuple):
    """Rows and columns of a file.

    Attributes:
        path: The file.
        format: "csv", "tsv", "semicolon", "jsonl" or "text".
        columns: Their names, all different; of plain text, "text".
        cells: One list for each column, one value for each row: the text as in the file; from JSONL also None
            for a missing key, and lists and dicts.
        lines: The line in which each row ends, from 1.
        encoding: Name of the encoding of the file.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    cells: list[list]
    lines: Sequence[int]
    encoding: str = UTF_8


def column_names(path: Path, row: Sequence[str]) -> tuple[str, ...]:
    """Return the column names in a first line; unnamed columns are numbered.

    Raises:
        DataError: If there are none, too many, or two of one name.
    """
    if not row:
        raise DataError("line.empty", place=line_reference(path, 1))
    if len(row) > MAX_COLUMNS:
        raise DataError("table.columns", path=path, columns=len(row), most=MAX_COLUMNS)
    names = tuple(name.strip() or f"column {place}" for place, name in enumerate(row, 1))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError("table.twice", path=path, column=twice[0][:40])
    return names


def row_limit(most: int | None) -> int:
    """Return the number of rows to read, at most one more than allowed, so that too many are detected."""
    return MAX_ROWS + 1 if most is None else min(most, MAX_ROWS + 1)


def check_count(path: Path, count: int) -> None:
    """Raise `DataError` if a file has too many rows."""
    if count > MAX_ROWS:
        raise DataError("table.rows", path=path, most=MAX_ROWS)
