"""The table that every reader returns, and its limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.encodings import UTF_8, readable
from transformer_viz.data.files import DataError

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
        format: "csv", "tsv", "semicolon", "pipe", "jsonl", "json", "fasttext", "workbook" or "text".
        columns: Their names, all different; of plain text, "text".
        cells: One list for each column, one value for each row: the text as in the file; None for a missing
            field; from JSONL also lists and dicts.
        lines: The line in which each row ends, from 1; of a workbook its row.
        bad: The rows left out, because they cannot be those of a table.
        has_header: Whether the columns have names of their own.
        encoding: Name of the encoding of the file; "" of a workbook.
        sheets: Names of the sheets of a workbook that have any cells; the first one is read.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    cells: list[list]
    lines: Sequence[int]
    bad: BadRows
    has_header: bool = True
    encoding: str = UTF_8
    sheets: tuple[str, ...] = ()


def column_names(path: Path, row: Sequence[str]) -> tuple[str, ...]:
    """Return the column names in a first row; unnamed columns are numbered.

    Raises:
        DataError: If there are too many, or two of one name.
    """
    if len(row) > MAX_COLUMNS:
        raise DataError("table.columns", path=path, columns=len(row), most=MAX_COLUMNS)
    clean = (readable(name).strip() for name in row)
    names = tuple(name or numbered(place) for place, name in enumerate(clean, 1))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError("table.twice", path=path, column=twice[0][:40])
    return names


def numbered(place: int) -> str:
    """Return the name of a column without one, by its place from 1."""
    return f"column {place}"


def row_limit(most: int | None) -> int:
    """Return the number of rows to read, at most one more than allowed, so that too many are detected."""
    return MAX_ROWS + 1 if most is None else min(most, MAX_ROWS + 1)


def check_count(path: Path, count: int) -> None:
    """Raise `DataError` if a file has too many rows."""
    if count > MAX_ROWS:
        raise DataError("table.rows", path=path, most=MAX_ROWS)
