"""Rows of JSONL: one object on each line."""

import json
import re

from transformer_viz.data.files import DataError
from transformer_viz.data.table import MAX_COLUMNS, PORTION, Table, capped, check_count, names_of

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
    every = text.removesuffix("\n").split("\n")[: capped(most)]
    check_count(path, len(every))
    cells = {}
    for begin in range(0, len(every), PORTION):
        portion = enumerate(every[begin : begin + PORTION], begin + 1)
        rows = [_object(f"{path}, line {number}", line) for number, line in portion]
        for name in dict.fromkeys(name for row in rows for name in row):
            cells.setdefault(name, [None] * begin)
        if len(cells) > MAX_COLUMNS:
            names_of(path, [*cells])
        for name, column in cells.items():
            column.extend(_plain(row.get(name, _MISSING)) for row in rows)
    return Table(path, "jsonl", tuple(cells), list(cells.values()), range(1, len(every) + 1))


def _object(place, line):
    """Return the object on a line."""
    if not line or line.isspace():
        raise DataError(f"{place} is empty. Remove it.")
    if len(line) > MAX_LINE:
        raise DataError(f"{place} has more than {MAX_LINE:,} characters. Cut its texts into parts.")
    try:
        row = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise _no_object(place, f" ({reason})") from None
    if not isinstance(row, dict):
        raise _no_object(place)
    if _HALF.search(line) and not _is_sendable(row):
        raise DataError(f"{place}: half of a character, an escape like \\ud83d by itself. Remove it.")
    return row


def _no_object(place, reason=""):
    return DataError(
        f"{place}: not a JSON object{reason}. Each line must be one whole object, "
        'such as {"text": "a film", "label": "1"}.'
    )


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
