"""Rows and columns of a file, however it is written, and how large it may be."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from transformer_viz.data.files import DataError, line_reference

MAX_CHARS = 1_000_000
"""Longest text."""

MAX_COLUMNS = 200
"""More columns than this are taken for a mistake."""

MAX_ROWS = 5_000_000
"""Most rows that are read."""

PORTION = 500
"""Rows that are read at a time: of more, Python's collector would take them for something that stays, and go
over all that was read again and again."""


class Table(NamedTuple):
    """What a file holds.

    Attributes:
        path: The file.
        format: "csv", "tsv", "semicolon", "jsonl" or "text".
        columns: Their names, all different; of plain text, "text".
        cells: One list for each column, all as long as there are rows: text as it stands there; of JSONL,
            None for a key that is not there, and a list or a dict as it is.
        lines: The line in which each row ends, from 1.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    cells: list[list]
    lines: Sequence[int]


def column_names(path, row) -> tuple[str, ...]:
    """Return the names of columns that stand in a first line, one without a name numbered.

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


def row_limit(most) -> int:
    """Return how many rows are asked for; one more than may be, so that too many are found out."""
    return MAX_ROWS + 1 if most is None else min(most, MAX_ROWS + 1)


def check_count(path, count) -> None:
    """Raise `DataError` if a file has more rows than are read."""
    if count > MAX_ROWS:
        raise DataError("table.rows", path=path, most=MAX_ROWS)
