"""Reader of CSV, with commas or semicolons, and of TSV."""

import csv
import io
import re
import threading
from array import array
from itertools import islice
from pathlib import Path

from transformer_viz.data.files import DataError, line_reference
from transformer_viz.data.table import MAX_CHARS, PORTION, Table, check_count, column_names, row_limit
from transformer_viz.language import Phrase

DELIMITERS = {"tsv": "\t", "csv": ",", "semicolon": ";"}
"""Format -> delimiter."""

_NAMED = {"\t": "delimiter.tab", ",": "delimiter.comma", ";": "delimiter.semicolon"}
"""Delimiter -> code of the phrase for it."""

_FIELD_LIMIT = threading.Lock()
"""Guards the field size limit of `csv`, which is global."""


def read_delimited(path: Path, text: str, kind: str, most: int | None) -> Table:
    """Read rows of delimited fields.

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        kind: One of `DELIMITERS`.
        most: Rows to read; None: all.

    Raises:
        DataError: If a row has another number of fields; names its line.
    """
    delimiter = DELIMITERS[kind]
    if kind == "tsv" and (literal := _literal(path, text, most)):
        return literal
    most = row_limit(most)
    with _FIELD_LIMIT:
        limit = csv.field_size_limit(MAX_CHARS)
        try:
            found = _even(path, text, delimiter, most)
            header, cells, lines = found or _row_by_row(path, text, delimiter, most)
        finally:
            csv.field_size_limit(limit)
    return Table(path, kind, header, cells, lines)


def _even(path, text, delimiter, most):
    """Return header, cells and lines if each row is one line and well-formed; None otherwise.

    Nearly all files take this path, several times as fast as row by row.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    cells, count = [], 0
    try:
        header = column_names(path, next(reader))
        cells = [[] for _ in header]
        while rows := list(islice(reader, min(PORTION, most - count))):
            if set(map(len, rows)) != {len(header)}:
                return None
            for values, column in zip(zip(*rows, strict=True), cells, strict=True):
                column.extend(values)
            count += len(rows)
    except csv.Error:
        return None
    if reader.line_num != count + 1:
        return None
    check_count(path, count)
    return header, cells, range(2, count + 2)


def _row_by_row(path, text, delimiter, most):
    """Return header, cells and lines; raises `DataError` with the line at fault."""
    begin, lines = 1, array("Q")
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = column_names(path, next(reader))
        cells = [[] for _ in header]
        begin = reader.line_num + 1
        for row in islice(reader, most):
            if len(row) != len(header):
                raise _bad_width(line_reference(path, reader.line_num), header, row, delimiter)
            for value, column in zip(row, cells, strict=True):
                column.append(value)
            lines.append(reader.line_num)
            begin = reader.line_num + 1
    except csv.Error as error:
        reason = str(error).replace("'\t'", "a tab")
        raise DataError("row.damaged", path=path, line=begin, reason=reason, most=MAX_CHARS) from None
    check_count(path, len(lines))
    return header, cells, lines


def _literal(path, text, most):
    """Return the rows of a TSV in which every line is a row; None if one is not.

    Many TSV files are written without quoting, so that a quote is an ordinary character. Only fields quoted
    from end to end are unquoted.
    """
    every = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    width = every[0].count("\t")
    if any(line.count("\t") != width for line in every):
        return None
    header = column_names(path, list(map(_unquoted, every[0].split("\t"))))
    rows = every[1 : row_limit(most) + 1]
    check_count(path, len(rows))
    cells = [[] for _ in header]
    for begin in range(0, len(rows), PORTION):
        split = [line.split("\t") for line in rows[begin : begin + PORTION]]
        for values, column in zip(zip(*split, strict=True), cells, strict=True):
            column.extend(values)
    if '"' in text:
        cells = [list(map(_unquoted, column)) for column in cells]
    return Table(path, "tsv", header, cells, range(2, len(rows) + 2))


def _unquoted(field):
    if len(field) > 1 and field[0] == '"' and re.fullmatch(r'"(?:[^"]|"")*"', field):
        return field[1:-1].replace('""', '"')
    return field


def _bad_width(place, header, row, delimiter):
    if not row:
        return DataError("line.empty", place=place)
    widths = {"count": len(row), "columns": len(header)}
    return DataError("row.width", place=place, delimiter=Phrase(_NAMED[delimiter]), **widths)
