"""Format detection: CSV, TSV, JSONL or plain text, from the content of a file."""

import contextlib
import csv
import io
import re
from array import array
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from transformer_viz.data.columns import is_known
from transformer_viz.data.delimited import DELIMITERS, read_delimited
from transformer_viz.data.files import DataError, read_text
from transformer_viz.data.jsonl import read_objects
from transformer_viz.data.table import Table, check_count, row_limit

_SAMPLE = 2**16
"""Characters examined to detect the format."""

_SAMPLE_ROWS = 20

ENDS = (*".!?…。！？",)
"""Final characters of a sentence, which a column name does not have."""


def read_table(
    path: str | Path,
    *,
    most: int | None = None,
    needed: Sequence[str] | None = None,
    sha256: str = "",
    most_bytes: int | None = None,
) -> Table:
    """Read the rows of a file.

    Args:
        path: The file.
        most: Rows to read; None: all.
        needed: Columns the caller needs, so that the file is read as a table; None: it may also be plain
            text, one text on a line.
        sha256: Expected SHA-256 in hexadecimal; "": any.
        most_bytes: Most bytes, decompressed; None: the limit of all files.

    Raises:
        DataError: If it cannot be read; names file, line and remedy.
    """
    path = Path(path)
    text, encoding = read_text(path, sha256, most_bytes)
    kind = _format_of(path, text, needed)
    if kind == "text":
        table = _lines(path, text, most)
    elif kind == "jsonl":
        table = read_objects(path, text, most)
    else:
        table = read_delimited(path, text, kind, most)
    if not table.lines:
        raise DataError("table.no_rows", path=path)
    return table._replace(encoding=encoding)


def _format_of(path, text, needed):
    if not text.strip():
        if needed:
            raise DataError("table.empty", path=path, header=",".join(needed))
        raise DataError("text.empty", path=path)
    begin = text[:1000].lstrip()
    if re.match(r"\[\s*[\[{]", begin):
        raise DataError("json.array", path=path)
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
    """Return the first rows without the last, which may be incomplete."""
    rows, reader = [], csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    with contextlib.suppress(csv.Error):  # reported when the whole file is read
        rows.extend(islice(reader, _SAMPLE_ROWS))
    rows = [row for row in rows if row]
    if len(text) > _SAMPLE and len(rows) > 1:
        rows.pop()
    return rows or [[""]]


def _is_header(row, even):
    """Return whether a first line holds column names rather than a text."""
    known = any(map(is_known, row))
    if len(row) == 1:
        return known
    names = all(len(name) <= 40 and len(name.split()) <= 4 and not name.endswith(ENDS) for name in row)
    return names and (known or (even and all(name == name.strip() for name in row)))


def _lines(path, text, most):
    """Return a table of the non-empty lines."""
    every = enumerate(text.replace("\r\n", "\n").split("\n"), 1)
    found = islice(((line, number) for number, line in every if line and not line.isspace()), row_limit(most))
    cells, lines = [], array("Q")
    for line, number in found:
        cells.append(line)
        lines.append(number)
    check_count(path, len(lines))
    return Table(path, "text", ("text",), [cells], lines)
