"""Rows of JSONL: one object on each line."""

import json
import re

from transformer_viz.data.files import DataError, line_reference
from transformer_viz.data.table import MAX_COLUMNS, PORTION, Table, check_count, column_names, row_limit

MAX_LINE = 8_000_000
"""Longest line in characters: a value of it takes many times the memory of its text."""


def read_objects(path, text, most) -> Table:
    """Read rows that are objects; numbers stay as they are written.

    Args:
        path: Where the text is from.
        text: The whole file.
        most: Rows to read; None: all.

    Raises:
        DataError: If a line is something else; names it.
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
    """Return whether texts and names are such that UTF-8 can hold them."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""What half of a surrogate pair is written as, and each half of a whole one."""

_MISSING = object()
"""Stands for a key that is not there."""


def _plain(value):
    """Return what JSON wrote as text, as a CSV would have it; a list or a dict stays what it is."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if value is _MISSING:
        return None
    return str(value).lower() if isinstance(value, bool) else value
