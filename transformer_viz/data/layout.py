"""The layout of a file, recognised by its first rows: format, delimiter, and where the header is."""

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from transformer_viz.data.columns import is_data, is_header, is_label
from transformer_viz.data.files import DataError

DELIMITERS = {"tsv": "\t", "csv": ",", "semicolon": ";", "pipe": "|"}
"""Format -> delimiter."""

LABEL_MARK = "__label__"
"""What a label begins with in fastText's form."""

_SAMPLE = 2**16
"""Characters examined to recognise the layout."""

_SAMPLE_ROWS = 50

_EVEN = 0.8
"""Least share of the first rows that have one number of fields, of a table."""

_HINT = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""The first line by which a file tells Excel its delimiter."""


class Layout(NamedTuple):
    """The layout of a file.

    Attributes:
        format: "csv", "tsv", "semicolon", "pipe", "jsonl", "json", "fasttext" or "text".
        delimiter: What is between two fields; "" in a format without.
        begin: Characters before the table: the line by which a file tells Excel its delimiter.
        above: Rows above the header: titles.
    """

    format: str
    delimiter: str = ""
    begin: int = 0
    above: int = 0


def layout_of(path: Path, text: str, needed: Sequence[str] | None) -> Layout:
    """Return the layout of a text.

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        needed: Columns the caller needs, so that it is a table; None: it may also be plain text.

    Raises:
        DataError: If it is empty.
    """
    if not text.strip():
        if needed:
            raise DataError("table.empty", path=path, header=",".join(needed))
        raise DataError("text.empty", path=path)
    begin = text[:1000].lstrip()
    if re.match(r"\[\s*[\[{]", begin):
        return Layout("json")
    if re.match(r"\{\s*[\"}]", begin):
        return Layout("jsonl")
    if begin.startswith(LABEL_MARK):
        return Layout("fasttext")
    if hint := _HINT.match(text):
        kinds = {delimiter: kind for kind, delimiter in DELIMITERS.items()}
        rows = _sample(text[hint.end() :], hint[1])
        return Layout(kinds.get(hint[1], "csv"), hint[1], hint.end(), titles_in(rows))
    samples = {kind: _sample(text, delimiter) for kind, delimiter in DELIMITERS.items()}
    best = max(samples, key=lambda kind: _evenness(samples[kind]))
    if not _evenness(samples[best]).is_even and all(len(rows[0]) == 1 for rows in samples.values()):
        best = "csv"
    if not needed and not _is_table(samples[best], best):
        return Layout("text")
    return Layout(best, DELIMITERS[best], above=titles_in(samples[best]))


def titles_in(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows stand above the header: only their first cell is filled, while the
    row below them has a short name in every column.

    Args:
        rows: The first rows that are not blank.
    """
    width = _width(rows)
    for above, row in enumerate(rows):
        filled = [cell for cell in row if cell.strip()]
        if len(filled) == 1 and row[0].strip():
            continue
        is_header = above and width > 1 and len(filled) == len(row) == width and not any(map(is_data, row))
        return above if is_header else 0
    return 0


def _sample(text, delimiter):
    """Return the first rows that are not blank, without the last, which may be incomplete."""
    rows, reader = [], csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    with contextlib.suppress(csv.Error):  # reported when the whole file is read
        rows.extend(islice(reader, _SAMPLE_ROWS))
    if len(text) > _SAMPLE and len(rows) > 1:
        rows.pop()
    return [row for row in rows if any(cell.strip() for cell in row)] or [[""]]


def _width(rows):
    """Return the commonest number of fields."""
    return Counter(map(len, rows)).most_common(1)[0][0]


class _Evenness(NamedTuple):
    """How much the first rows look like a table; of several delimiters, the one with the largest is meant.

    Attributes:
        is_even: Whether nearly all rows have the same number of fields, of which there are several.
        has_known_name: Whether a column has a well-known name.
        begins: Whether the table begins with the first row.
        width: Number of fields.
    """

    is_even: bool
    has_known_name: bool
    begins: bool
    width: int


def _evenness(rows):
    width, above = _width(rows), titles_in(rows)
    header = rows[above]
    is_even = sum(len(row) == width for row in rows) >= _EVEN * len(rows) and len(header) == width > 1
    has_known_name = is_even and any(map(is_header, header))
    return _Evenness(is_even, has_known_name, not above, width if is_even else len(header))


def _is_table(rows, kind):
    """Return whether rows are those of a table rather than lines of a text."""
    rows = rows[titles_in(rows) :]
    header, even, width = rows[0], _evenness(rows).is_even, _width(rows)
    known = any(map(is_header, header))
    if len(header) == 1:
        return known
    names = not any(map(is_data, header))
    if names and (known or (even and all(name == name.strip() for name in header))):
        return True
    whole = [row for row in rows if len(row) == width]
    if not even or len(whole) < 2:
        return False
    if kind == "tsv":
        return all(cell.strip() for row in whole for cell in row)
    columns = list(zip(*whole, strict=True))
    return any(is_label(column) for column in columns if not any(cell.startswith(" ") for cell in column))
