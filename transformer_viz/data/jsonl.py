"""Reader of JSONL: one object on each line."""

import json
import re
from pathlib import Path

from transformer_viz.data.files import DataError, line_reference
from transformer_viz.data.table import MAX_COLUMNS, PORTION, Table, check_count, column_names, row_limit

MAX_LINE = 8_000_000
"""Characters of the longest line: a parsed value takes many times the memory of its text."""


def read_objects(path: Path, text: str, most: int | None) -> Table:
    """Read rows that are JSON objects; numbers stay as they are written.

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        most: Rows to read; None: all.

    Raises:
        DataError: If a line is not an object; names it.
    """
    every = text.removesuffix("\n").split("\n")[: row_limit(most)]
    check_count(path, len(every))
    cells = {}
    for begin in range(0, len(every), PORTION):
        portion = enumerate(every[begin : begin + PORTION], begin + 1)
        rows = [_object(path, number, line) for number, line in portion]
        for name in dict.fromkeys(name for row in rows for name in row):
            cells.setdefault(name, [None] * begin)
        if len(cells) > MAX_COLUMNS:
            column_names(path, [*cells])
        for name, column in cells.items():
            column.extend(_plain(row.get(name, _MISSING)) for row in rows)
    return Table(path, "jsonl", tuple(cells), list(cells.values()), range(1, len(every) + 1))


def _object(path, number, line):
    """Return the object on a line."""
    if not line or line.isspace():
        raise DataError("line.empty", place=line_reference(path, number))
    if len(line) > MAX_LINE:
        raise DataError("line.long", place=line_reference(path, number), most=MAX_LINE)
    try:
        row = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise DataError("json.damaged", place=line_reference(path, number), reason=reason) from None
    if not isinstance(row, dict):
        raise DataError("json.shape", place=line_reference(path, number))
    if _HALF.search(line) and not _is_sendable(row):
        raise DataError("json.half", place=line_reference(path, number))
    return row


def _is_sendable(row):
    """Return whether all texts and keys can be encoded in UTF-8."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""A surrogate escape, paired or not."""

_MISSING = object()
"""Marks a missing key."""


def _plain(value):
    """Return a value as CSV would hold it; lists and dicts unchanged."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if value is _MISSING:
        return None
    return str(value).lower() if isinstance(value, bool) else value
