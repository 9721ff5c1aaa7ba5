"""The one entrance to all readers: a table from a file of any format."""

from array import array
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.building import finished
from transformer_viz.data.delimited import read_delimited
from transformer_viz.data.encodings import UNREADABLE
from transformer_viz.data.fasttext import read_fasttext
from transformer_viz.data.files import DataError, Source
from transformer_viz.data.jsonl import read_array, read_objects
from transformer_viz.data.layout import layout_of
from transformer_viz.data.options import RECOGNISED, ReadOptions
from transformer_viz.data.table import Table, check_count, row_limit
from transformer_viz.data.workbook import is_workbook, read_workbook


def read_table(
    file: str | Path | Source,
    options: ReadOptions = RECOGNISED,
    *,
    most: int | None = None,
    needed: Sequence[str] | None = None,
) -> Table:
    """Read the rows of a file; those that cannot be rows of its table are counted in `Table.bad`.

    Args:
        file: The file, or what was read of it.
        options: How it is read.
        most: Rows to read; None: all.
        needed: Columns the caller needs, so that the file is read as a table; None: it may also be plain
            text, one text on a line.

    Raises:
        DataError: If it cannot be read; names file, place and remedy.
    """
    source = Source.of(file)
    path = source.path
    if is_workbook(source.data):
        limits = {"has_header": options.has_header, "most_bytes": source.most_bytes}
        table, has_unreadable = read_workbook(path, source.data, most, **limits), False
    else:
        text, encoding = source.text(options.encoding)
        table = _read(path, text, most, needed, options.has_header)._replace(encoding=encoding)
        has_unreadable = UNREADABLE.search(text) is not None
    is_whole = most is None or len(table.lines) < most
    table = finished(table, is_whole=is_whole, has_unreadable=has_unreadable)
    if not table.lines:
        raise table.bad.refusal() if table.bad.count else DataError("table.no_rows", path=path)
    return table


def _read(path, text, most, needed, has_header):
    layout = layout_of(path, text, needed)
    if layout.format == "text":
        return _lines(path, text, most)
    if layout.format == "jsonl":
        return read_objects(path, text, most)
    if layout.format == "json":
        return read_array(path, text, most)
    if layout.format == "fasttext":
        return read_fasttext(path, text, most)
    return read_delimited(path, text, layout, most, has_header=has_header)


def _lines(path, text, most):
    """Return a table of the non-empty lines."""
    every = enumerate(text.replace("\r\n", "\n").split("\n"), 1)
    found = islice(((line, number) for number, line in every if line and not line.isspace()), row_limit(most))
    cells, lines = [], array("Q")
    for line, number in found:
        cells.append(line)
        lines.append(number)
    check_count(path, len(lines))
    return Table(path, "text", ("text",), [cells], lines, BadRows(str(path)))
