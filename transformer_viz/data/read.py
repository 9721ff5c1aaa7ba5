"""Readers of labelled texts, pairs of texts and texts alone, from tables or plain text."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from transformer_viz.data.columns import COLUMN_ROLES, MAX_LABELS, SAMPLE, choose_columns, is_known
from transformer_viz.data.files import DataError, line_reference
from transformer_viz.data.read_table import read_table
from transformer_viz.data.table import MAX_CHARS
from transformer_viz.language import Phrase
from transformer_viz.text.scripts import main_script

SHOWN = 5
"""Rows of a preview."""

MAX_LABEL = 200
"""Characters of the longest label, which axes, tables and model cards show."""


class Preview(NamedTuple):
    """First look at a file, for the user to confirm.

    Attributes:
        format: "csv", "tsv", "semicolon", "jsonl" or "text".
        columns: Names of its columns; of plain text, "text".
        guess: kind -> role -> column, for each kind of `COLUMN_ROLES` that the file could be.
        rows: The first rows with all columns, unchanged.
        kind: The likeliest kind; None if the columns must be named.
        encoding: Name of the encoding that was recognised.
        scripts: column -> script of most of its words, as `main_script` returns it.
    """

    format: str
    columns: tuple[str, ...]
    guess: dict[str, dict[str, str]]
    rows: pd.DataFrame
    kind: str | None
    encoding: str
    scripts: dict[str, str]


def preview(path: str | Path, *, sha256: str = "", most_bytes: int | None = None) -> Preview:
    """Read the first rows of a file and guess its kind and columns.

    Args:
        path: The file.
        sha256: Expected SHA-256 in hexadecimal; "": any.
        most_bytes: Most bytes, decompressed; None: the limit of all files.

    Raises:
        DataError: If no rows can be read.
    """
    table = read_table(path, most=SAMPLE, sha256=sha256, most_bytes=most_bytes)
    guess = {}
    for kind in COLUMN_ROLES if table.format != "text" else ["texts"]:
        try:
            guess[kind] = choose_columns(table, kind)
        except DataError:
            continue
    first = list(zip(*(values[:SHOWN] for values in table.cells), strict=True))
    rows = pd.DataFrame(first, columns=list(table.columns), dtype=object)
    scripts = dict(zip(table.columns, map(main_script, table.cells), strict=True))
    kind = _likeliest(table, guess)
    return Preview(table.format, table.columns, guess, rows, kind, table.encoding, scripts)


def read_labelled(
    path: str | Path, columns: Mapping[str, str] | None = None, *, sha256: str = ""
) -> pd.DataFrame:
    """Read labelled texts from CSV (commas, semicolons), TSV or JSONL, plain or gzip.

    Args:
        path: The file; its first line names the columns.
        columns: role ("text", "label", "group") -> column in the file; missing roles are guessed, except the
            group, which keeps rows together when they are split.
        sha256: Expected SHA-256 of the file in hexadecimal; "": any.

    Returns:
        Columns text and label, and group if it was named, all as strings exactly as in the file ("NA",
        "1.0"), in file order.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    frame = _read(path, "labels", columns, sha256)
    labels = len(set(frame["label"]))
    if labels > MAX_LABELS:
        column = frame.attrs["columns"]["label"]
        raise DataError("labels.many", path=path, labels=labels, most=MAX_LABELS, column=column)
    return frame


def read_pairs(
    path: str | Path, columns: Mapping[str, str] | None = None, *, sha256: str = ""
) -> pd.DataFrame:
    """Read texts and the targets a decoder is trained to write; otherwise as `read_labelled`.

    Args:
        path: The file.
        columns: role ("text" or "source", "target", "group") -> column in the file.
        sha256: As for `read_labelled`.

    Returns:
        Columns text and target, and group if it was named.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    return _read(path, "pairs", columns, sha256)


def read_texts(
    path: str | Path, columns: Mapping[str, str] | None = None, *, sha256: str = ""
) -> pd.DataFrame:
    """Read texts for next-token prediction: plain text, one text on a line, or a table.

    Args:
        path: The file; empty lines of a plain text are skipped.
        columns: role ("text", "group") -> column in the file, if it is a table.
        sha256: As for `read_labelled`.

    Returns:
        Column text, and group if it was named.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    return _read(path, "texts", columns, sha256)


def read_for_decoder(
    path: str | Path, columns: Mapping[str, str] | None = None, *, sha256: str = ""
) -> pd.DataFrame:
    """Read the training data of a decoder alone: pairs if the file has a target, else texts.

    Args:
        path: The file.
        columns: As for `read_pairs` or `read_texts`.
        sha256: As for `read_labelled`.

    Returns:
        Columns text and target, and group if it was named; the target of a text alone is empty.

    Raises:
        DataError: If the file is anything else; names file, line and remedy.
    """
    columns = columns or {}
    guess = {} if columns else preview(path, sha256=sha256).guess.get("pairs", {})
    if {"target", "source"} & columns.keys() or is_known(guess.get("target", "")):
        return read_pairs(path, columns, sha256=sha256)
    frame = read_texts(path, columns, sha256=sha256)
    frame.insert(1, "target", "")
    return frame


def _read(path, kind, columns, sha256):
    """Return the chosen columns of a file; `attrs["columns"]` maps roles to their names."""
    needed = None if kind == "texts" and not columns else COLUMN_ROLES[kind]
    table = read_table(path, needed=needed, sha256=sha256)
    chosen = choose_columns(table, kind, columns)
    frame = pd.DataFrame(
        {role: _column(table, role, name) for role, name in chosen.items()},
        columns=[role for role in (*COLUMN_ROLES[kind], "group") if role in chosen],
        dtype=object,
    )
    frame.attrs["columns"] = chosen
    return frame


def _column(table, role, name):
    """Return the values of a column after checking each; only texts keep their outer spaces."""
    values = table.cells[table.columns.index(name)]
    most = MAX_LABEL if role == "label" else MAX_CHARS
    for value, line in zip(values, table.lines, strict=True):
        if type(value) is not str or not value or value.isspace() or len(value) > most:
            raise _bad_value(line_reference(table.path, line), role, name, value)
    return values if role == "text" else list(map(str.strip, values))


def _bad_value(place, role, name, value):
    where = {"place": place, "role": Phrase(f"role.{role}")}
    if value is None:
        return DataError("value.missing", column=name, **where)
    if not isinstance(value, str):
        return DataError("value.several", column=name, **where)
    if not value.strip():
        return DataError("value.empty", **where)
    if role == "label":
        column = " ".join(name.split())[:40]
        return DataError("label.long", place=place, length=len(value), most=MAX_LABEL, column=column)
    return DataError("value.long", length=len(value), most=MAX_CHARS, **where)


def _likeliest(table, guess):
    """Return the likeliest kind of a file: labels repeat, targets do not."""
    if "labels" in guess:
        labels = list(map(str, table.cells[table.columns.index(guess["labels"]["label"])]))
        if "pairs" not in guess or len(set(labels)) <= min(MAX_LABELS, len(labels) / 2):
            return "labels"
    return next((kind for kind in ("pairs", "texts") if kind in guess), None)
