"""Building of a table: from rows, and what is left out of it at the end."""

import re
from array import array
from collections.abc import Iterable
from pathlib import Path

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.encodings import UNREADABLE
from transformer_viz.data.layout import Layout
from transformer_viz.data.table import Table, check_count, column_names, numbered, row_limit

_TOTAL = re.compile(r"(总计|合计|共计|总和|小计|汇总|(grand )?totals?|sum)\s*[:：]?", re.IGNORECASE)
"""The first cell of a row of totals."""

_NUMBER = re.compile(r"[-+]?[\d.,]+%?")

_SUMMED = ("csv", "tsv", "semicolon", "pipe", "workbook")
"""Formats of spreadsheets, whose last row may have totals."""


def table_of(
    path: Path,
    layout: Layout,
    rows: Iterable[tuple[int, list[str]]],
    bad: BadRows,
    *,
    most: int | None,
    has_header: bool,
) -> Table:
    """Return the table of some rows: short ones are filled up, those with too many fields left out.

    Args:
        path: The file, for errors.
        layout: Its layout.
        rows: Line and fields of each row.
        bad: What was wrong so far; more is added.
        most: Rows to read; None: all.
        has_header: Whether the first row names the columns.
    """
    names, cells, lines, most = None, [], array("Q"), row_limit(most)
    above = layout.above if has_header else 0
    for line, row in rows:
        if not any(map(_is_filled, row)):
            bad.blank += 1
        elif bad.counts.get("title", 0) < above:
            bad.add("title", line, row)
        elif names is None:
            names = column_names(path, row if has_header else [""] * len(row))
            cells = [[] for _ in names]
            if not has_header:
                _append(cells, lines, row, line)
        elif any(map(_is_filled, row[len(names) :])):
            bad.add("width", line, row)
        else:
            _append(cells, lines, [*row[: len(names)], *[None] * (len(names) - len(row))], line)
        if len(lines) == most:
            break
    check_count(path, len(lines))
    return Table(path, layout.format, names or (), cells, lines, bad, has_header)


def _append(cells, lines, row, line):
    for column, value in zip(cells, row, strict=True):
        column.append(value)
    lines.append(line)


def _is_filled(cell):
    return cell is not None and not (isinstance(cell, str) and (not cell or cell.isspace()))


def finished(table: Table, *, is_whole: bool = True, has_unreadable: bool = True) -> Table:
    """Return a table without blank rows and columns, rows with characters that cannot be read, and totals.

    Args:
        table: As it was read.
        is_whole: Whether its last row is that of the file.
        has_unreadable: Whether there may be characters that cannot be read.
    """
    bad, out = table.bad, set()
    for index in _blank_rows(table.cells):
        out.add(index)
        bad.blank += 1
    if has_unreadable:
        for index in sorted(
            {
                index
                for column in table.cells
                for index, value in enumerate(column)
                if isinstance(value, str) and UNREADABLE.search(value)
            }
        ):
            out.add(index)
            bad.add("bytes", table.lines[index], _row(table, index))
    last = max((index for index in range(len(table.lines)) if index not in out), default=None)
    if is_whole and last is not None and table.format in _SUMMED and _is_total(_row(table, last)):
        out.add(last)
        bad.add("total", table.lines[last], _row(table, last))
    cells, lines = table.cells, table.lines
    if out:
        kept = [index for index in range(len(table.lines)) if index not in out]
        cells = [[column[index] for index in kept] for column in cells]
        lines = array("Q", (table.lines[index] for index in kept))
    bad.rows = len(lines) + bad.count
    named = [
        place
        for place, name in enumerate(table.columns)
        if name != numbered(place + 1) or any(map(_is_filled, cells[place]))
    ]
    return table._replace(
        columns=tuple(table.columns[place] for place in named),
        cells=[cells[place] for place in named],
        lines=lines,
    )


def _blank_rows(cells):
    """Return the numbers of the rows without any filled cell."""
    first, *others = cells or [[]]
    rows = [index for index, value in enumerate(first) if not _is_filled(value)]
    return [index for index in rows if not any(_is_filled(column[index]) for column in others)]


def _row(table, index):
    return [column[index] for column in table.cells]


def _is_total(row):
    """Return whether a row is one of totals: its first cell says so, and the others are numbers."""
    first, *others = [cell for cell in row if _is_filled(cell)]
    return (
        isinstance(first, str)
        and _TOTAL.fullmatch(first.strip()) is not None
        and len(row) > 1
        and all(isinstance(cell, str) and _NUMBER.fullmatch(cell.strip()) for cell in others)
    )
