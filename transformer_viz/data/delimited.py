"""Reader of fields between delimiters: CSV with commas, semicolons or bars, and TSV."""

import csv
import io
import re
import threading
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.building import table_of
from transformer_viz.data.layout import Layout
from transformer_viz.data.table import (
    MAX_CHARS,
    PORTION,
    Table,
    check_count,
    column_names,
    row_limit,
)

_FIELD_LIMIT = threading.Lock()
"""Guards the field size limit of `csv`, which is global."""


def read_delimited(path: Path, text: str, layout: Layout, most: int | None, *, has_header: bool) -> Table:
    """Read rows of delimited fields; those that are none are counted in `Table.bad`.

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        layout: Its layout.
        most: Rows to read; None: all.
        has_header: Whether the first row names the columns.

    Raises:
        DataError: If the names of the columns cannot be used, or there are too many rows.
    """
    text, first = text[layout.begin :], 1 + bool(layout.begin)
    if layout.format != "tsv":
        return _quoted(path, text, first, layout, most, has_header)
    lines = _lines(text)
    if len({line.count("\t") for line in lines}) == 1:
        return _literal(path, lines, first, layout, most, has_header)
    found = _quoted(path, text, first, layout, most, has_header)
    if found.bad.count:
        literal = _literal(path, lines, first, layout, most, has_header)
        return min(found, literal, key=lambda table: table.bad.count)
    return found


def _quoted(path, text, first, layout, most, has_header):
    """Return the table of rows whose fields may be in quotes."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(MAX_CHARS)
        try:
            found = None if layout.above else _even(path, text, first, layout, most, has_header)
            if found is None:
                bad = BadRows(str(path))
                rows = _row_by_row(text, first, layout.delimiter, bad)
                found = table_of(path, layout, rows, bad, most=most, has_header=has_header)
        finally:
            csv.field_size_limit(before)
    return found


def _even(path, text, first, layout, most, has_header):
    """Return the table if each row is one line and well-formed; None otherwise.

    Nearly all files take this path, several times as fast as row by row.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter, strict=True)
    most, count = row_limit(most), 0
    try:
        begin = next(reader)
        header = column_names(path, begin if has_header else [""] * len(begin))
        rows_left = reader if has_header else chain([begin], reader)
        cells = [[] for _ in header]
        while rows := list(islice(rows_left, min(PORTION, most - count))):
            if set(map(len, rows)) != {len(header)}:
                return None
            for values, column in zip(zip(*rows, strict=True), cells, strict=True):
                column.extend(values)
            count += len(rows)
    except (csv.Error, StopIteration):
        return None
    if reader.line_num != count + has_header or not begin:
        return None
    check_count(path, count)
    lines = range(first + has_header, first + has_header + count)
    return Table(path, layout.format, header, cells, lines, BadRows(str(path)), has_header)


def _row_by_row(text: str, first: int, delimiter: str, bad: BadRows) -> Iterator[tuple[int, list[str]]]:
    """Yield line and fields of each row. One with a misplaced quote, or a field that is too long, is left
    out, and the next line begins a new one.
    """
    lines, begin = list(io.StringIO(text, newline="")), 0
    while begin < len(lines):
        rest = map(lines.__getitem__, range(begin, len(lines)))
        reader, done = csv.reader(rest, delimiter=delimiter, strict=True), 0
        try:
            for row in reader:
                done = reader.line_num
                yield first + begin + done - 1, row
            return
        except csv.Error:
            bad.add("quote", first + begin + done, lines[begin + done])
            begin += done + 1


def _literal(path, lines, first, layout, most, has_header):
    """Return the table of a TSV in which every line is a row.

    Many TSV files are written without quoting, so that a quote is an ordinary character. Only fields quoted
    from end to end are unquoted.
    """
    rows = ((number, list(map(_unquoted, line.split("\t")))) for number, line in enumerate(lines, first))
    return table_of(path, layout, rows, BadRows(str(path)), most=most, has_header=has_header)


def _lines(text):
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _unquoted(field):
    if len(field) > 1 and field[0] == '"' and re.fullmatch(r'"(?:[^"]|"")*"', field):
        return field[1:-1].replace('""', '"')
    return field
