"""Reader of JSON: one object on each line (JSONL), or one array of objects."""

import contextlib
import json
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.encodings import readable
from transformer_viz.data.files import DataError
from transformer_viz.data.table import (
    MAX_COLUMNS,
    PORTION,
    Table,
    check_count,
    column_names,
    row_limit,
)
from transformer_viz.language import json_reason

MAX_LINE = 8_000_000
"""Characters of the longest line: a parsed value takes many times the memory of its text."""


def read_objects(path: Path, text: str, most: int | None) -> Table:
    """Read rows that are JSON objects, one on each line; numbers stay as they are written. Other lines are
    counted in `Table.bad`.

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        most: Rows to read; None: all.

    Raises:
        DataError: If there are too many rows or keys.
    """
    bad = BadRows(str(path))
    return _table(path, "jsonl", _lines(text, bad), bad, most)


def read_array(path: Path, text: str, most: int | None) -> Table:
    """Read rows that are the objects of one JSON array; otherwise as `read_objects`.

    Raises:
        DataError: If it is no array, or there are too many rows or keys.
    """
    bad = BadRows(str(path))
    return _table(path, "json", _elements(path, text, bad), bad, most)


def _table(
    path: Path, form: str, objects: Iterator[tuple[int, Any]], bad: BadRows, most: int | None
) -> Table:
    """Return the table of the objects of some lines."""
    cells, lines, most = {}, array("Q"), row_limit(most)
    while rows := list(islice(objects, min(PORTION, most - len(lines)))):
        for name in dict.fromkeys(name for _, row in rows for name in row):
            cells.setdefault(name, [None] * len(lines))
        if len(cells) > MAX_COLUMNS:
            column_names(path, [*cells])
        for name, column in cells.items():
            column.extend(_plain(row.get(name)) for _, row in rows)
        lines.extend(number for number, _ in rows)
    check_count(path, len(lines))
    return Table(path, form, _names(cells), list(cells.values()), lines, bad)


def _lines(text, bad):
    """Yield the number of each line and the object on it."""
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if not line or line.isspace():
            bad.blank += 1
            continue
        row = None
        if len(line) <= MAX_LINE:
            with contextlib.suppress(ValueError, RecursionError):
                row = _DECODER.decode(line)
        if _is_row(row, number, line, bad):
            yield number, row


def _elements(path, text, bad):
    """Yield the line in which each element of an array ends, and the element."""
    end, line = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    try:
        while (place := _after_space(text, end)) < len(text) and text[place] != "]":
            before = end
            row, end = _DECODER.raw_decode(text, place)
            line += text.count("\n", before, end)
            if _is_row(row, line, text[place:end], bad):
                yield line, row
        if place == len(text):
            _DECODER.raw_decode(text, place)  # raises: it is cut off
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else json_reason(error)
        raise DataError("json.array", path=path, reason=reason) from None


def _after_space(text, place):
    """Return the place of the next element of an array, or of its end."""
    while place < len(text) and (text[place].isspace() or text[place] == ","):
        place += 1
    return place


def _is_row(row, number, line, bad):
    """Return whether a JSON value is an object that can be used; if not, it is counted."""
    if not isinstance(row, dict):
        bad.add("json", number, line)
    elif _HALF.search(line) and not _is_sendable(row):
        bad.add("half", number, line)
    else:
        return True
    return False


def _names(keys):
    """Return the keys as names of columns, all different."""
    names = list(map(readable, keys))
    return tuple(name if names.count(name) == 1 else f"{name} {place}" for place, name in enumerate(names, 1))


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


def _plain(value):
    """Return a value as CSV would hold it; lists and dicts unchanged."""
    return str(value).lower() if isinstance(value, bool) else value
