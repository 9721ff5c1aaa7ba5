"""Rows and columns of a file; whether it is CSV, TSV, JSONL or plain text is told by its content."""

import contextlib
import csv
import io
import json
import re
import threading
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from transformer_viz.datasets.columns import is_known
from transformer_viz.datasets.files import DataError, read_text

MAX_CHARS = 1_000_000
"""Longest text."""

MAX_COLUMNS = 200
"""More columns than this are taken for a mistake."""

DELIMITERS = {"tsv": "\t", "csv": ",", "semicolon": ";"}
"""Format -> what stands between its fields."""

_NAMED = {"\t": "tab", ",": "comma", ";": "semicolon"}

_SAMPLE = 2**16
"""Characters that are looked at to tell the format."""

_SAMPLE_ROWS = 20

ENDS = (*".!?…。！？",)
"""What a sentence ends with, and the name of a column does not."""

_FIELD_LIMIT = threading.Lock()
"""The limit of the `csv` module is one for the whole process."""


class Table(NamedTuple):
    """What a file holds.

    Attributes:
        path: The file.
        format: "csv", "tsv", "semicolon", "jsonl" or "text".
        columns: Their names, all different; of plain text, "text".
        rows: One list for each, as long as `columns`: text as it stands there; of JSONL, None for a key
            that is not there, and a list or a dict as it is.
        lines: The line in which each row ends, from 1.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    rows: list[list]
    lines: list[int]


def read_table(path, *, most=None, needed=None, sha256="") -> Table:
    """Read the rows of a file.

    Args:
        path: The file.
        most: Rows to read; None: all.
        needed: Columns without which it is of no use, so that it is taken for a table; None: it may be plain
            text too, one text on a line.
        sha256: Of what the file must hold, in hexadecimal; "": whatever it holds.

    Raises:
        DataError: If it cannot be read; names file, line and remedy.
    """
    path = Path(path)
    text = read_text(path, sha256)
    kind = _format_of(path, text, needed)
    if kind == "text":
        table = _lines(path, text, most)
    elif kind == "jsonl":
        table = _objects(path, text, most)
    else:
        table = _separated(path, text, kind, most)
    if not table.rows:
        raise DataError(f"{path} has a header but no rows.")
    return table


def _format_of(path, text, needed):
    if not text.strip():
        remedy = f"Its first line must be: {','.join(needed)}" if needed else "Put one text on each line."
        raise DataError(f"{path} is empty. {remedy}")
    begin = text[:1000].lstrip()
    if re.match(r"\[\s*[\[{]", begin):
        raise DataError(f"{path} is one JSON array. Write one object on each line (JSONL), or save a CSV.")
    if re.match(r"\{\s*[\"}]", begin):
        return "jsonl"
    samples = {kind: _sample(text, delimiter) for kind, delimiter in DELIMITERS.items()}
    even = {kind: len({len(row) for row in rows}) == 1 for kind, rows in samples.items()}
    width = {kind: len(rows[0]) for kind, rows in samples.items()}
    best = max(samples, key=lambda kind: (even[kind] and width[kind] > 1, width[kind]))
    if width[best] == 1:
        best = "csv"
    return "text" if not needed and not _is_header(samples[best][0], even[best]) else best


def _sample(text, delimiter):
    """Return the first rows, the last of them left out if it may not be whole."""
    rows, reader = [], csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    with contextlib.suppress(csv.Error):  # what is wrong is said when all is read
        rows.extend(islice(reader, _SAMPLE_ROWS))
    rows = [row for row in rows if row]
    if len(text) > _SAMPLE and len(rows) > 1:
        rows.pop()
    return rows or [[""]]


def _is_header(row, even):
    """Return whether a first line names columns, rather than being a text itself."""
    known = any(map(is_known, row))
    if len(row) == 1:
        return known
    names = all(len(name) <= 40 and len(name.split()) <= 4 and not name.endswith(ENDS) for name in row)
    return names and (known or (even and all(name == name.strip() for name in row)))


def _separated(path, text, kind, most):
    delimiter = DELIMITERS[kind]
    if kind == "tsv" and (literal := _literal(path, text, most)):
        return literal
    rows, lines, begin = [], [], 1
    with _FIELD_LIMIT:
        limit = csv.field_size_limit(MAX_CHARS)
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            header = _header(path, next(reader))
            begin = reader.line_num + 1
            for row in islice(reader, most):
                _check_width(f"{path}, line {reader.line_num}", header, row, delimiter)
                rows.append(row)
                lines.append(reader.line_num)
                begin = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{path}, the row that begins in line {begin}: {error}. Is a quote left open, or a text "
                f"longer than {MAX_CHARS:,} characters?"
            ) from None
        finally:
            csv.field_size_limit(limit)
    return Table(path, kind, header, rows, lines)


def _literal(path, text, most):
    """Return the rows of a TSV whose every line is a row, or None.

    Many write a TSV without quoting anything, so that a quote is a character like any other. Where each line
    has its fields, only one that is quoted from end to end is unquoted.
    """
    every = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    width = every[0].count("\t")
    if any(line.count("\t") != width for line in every):
        return None
    rows = [[_unquoted(field) for field in line.split("\t")] for line in every[: most and most + 1]]
    return Table(path, "tsv", _header(path, rows[0]), rows[1:], list(range(2, len(rows) + 1)))


def _unquoted(field):
    if len(field) > 1 and re.fullmatch(r'"(?:[^"]|"")*"', field):
        return field[1:-1].replace('""', '"')
    return field


def _header(path, row):
    """Return the names of columns, one without a name numbered."""
    if not row:
        raise DataError(f"{path}, line 1 is empty. Remove it.")
    if len(row) > MAX_COLUMNS:
        raise DataError(
            f"{path} has {len(row):,} columns; more than {MAX_COLUMNS} are taken for a mistake. "
            "Keep those with texts and labels."
        )
    names = tuple(name.strip() or f"column {place}" for place, name in enumerate(row, 1))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{path} has two columns named '{twice[0][:40]}'. Give each its own name.")
    return names


def _check_width(place, header, row, delimiter):
    if not row:
        raise DataError(f"{place} is empty. Remove it.")
    if len(row) != len(header):
        raise DataError(
            f"{place}: {len(row)} fields instead of {len(header)}. "
            f"A text with a {_NAMED[delimiter]} or a quote in it must stand in quotes."
        )


def _objects(path, text, most):
    """Return the rows of JSONL; numbers as they are written."""
    objects, lines, columns = [], [], {}
    for number, line in islice(enumerate(text.removesuffix("\n").split("\n"), 1), most):
        if not line.strip():
            raise DataError(f"{path}, line {number} is empty. Remove it.")
        try:
            row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise DataError(
                f"{path}, line {number}: not a JSON object ({reason}). Each line must be one whole object, "
                'such as {"text": "a film", "label": "1"}.'
            ) from None
        if not isinstance(row, dict):
            raise DataError(
                f"{path}, line {number}: not a JSON object. Each line must be one whole object, "
                'such as {"text": "a film", "label": "1"}.'
            )
        columns |= dict.fromkeys(row)
        if len(columns) > MAX_COLUMNS:
            _header(path, [*columns])
        objects.append(row)
        lines.append(number)
    rows = [[_plain(row[name]) if name in row else None for name in columns] for row in objects]
    return Table(path, "jsonl", tuple(columns), rows, lines)


def _plain(value):
    """Return what JSON wrote as text, as a CSV would have it; a list or a dict stays what it is."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value


def _lines(path, text, most):
    """Return the lines that are not empty."""
    every = ((line, number) for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1))
    found = list(islice(((line, number) for line, number in every if line.strip()), most))
    return Table(path, "text", ("text",), [[line] for line, _ in found], [number for _, number in found])
