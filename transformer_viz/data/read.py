"""Readers of labelled texts, pairs of texts and texts alone, from tables or plain text."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from transformer_viz.data.columns import (
    COLUMN_ROLES,
    MAX_LABELS,
    MOST_LABELS,
    OPTIONAL,
    SAMPLE,
    choose_columns,
    clear_columns,
    flags_of,
    is_known,
    is_numbering,
    lacks_header,
)
from transformer_viz.data.files import DataError, Source
from transformer_viz.data.options import RECOGNISED, ReadOptions
from transformer_viz.data.read_table import read_table
from transformer_viz.data.table import MAX_CHARS
from transformer_viz.text.scripts import main_script
from transformer_viz.text.special import SECOND

SHOWN = 5
"""Rows of a preview."""

MAX_LABEL = 200
"""Characters of the longest label, which axes, tables and model cards show."""


class Preview(NamedTuple):
    """First look at a file, for the user to confirm.

    Attributes:
        format: "csv", "tsv", "semicolon", "pipe", "jsonl", "json", "fasttext", "workbook" or "text".
        columns: Names of its columns; of plain text, "text".
        guess: kind -> role -> column, for each kind of `COLUMN_ROLES` that the file could be.
        rows: The first rows with all columns, unchanged.
        kind: The likeliest kind; None if the columns must be named.
        encoding: Name of the encoding that was recognised; "" of a workbook.
        scripts: column -> script of most of its words, as `main_script` returns it.
        is_sure: Whether the kind follows from the file; otherwise the user is to say what is to be learned.
        lacks_header: Whether the names of the columns look like a row of data.
        flags: Columns that stand for a label each; empty if there are not several.
        sheets: Names of the sheets of a workbook that have any cells; the first one is read.
        num_rows: Rows looked at, at most `SAMPLE`.
        problem: Why it could not be of the first kind that it could not be; None if it could be any.
        clear: kind -> role -> column, for each other kind, of the roles that only one column could have.
    """

    format: str
    columns: tuple[str, ...]
    guess: dict[str, dict[str, str]]
    rows: pd.DataFrame
    kind: str | None
    encoding: str
    scripts: dict[str, str]
    is_sure: bool
    lacks_header: bool
    flags: list[str]
    sheets: tuple[str, ...]
    num_rows: int
    problem: DataError | None
    clear: dict[str, dict[str, str]]


def preview(file: str | Path | Source, options: ReadOptions = RECOGNISED) -> Preview:
    """Read the first rows of a file and guess its kind and columns.

    Args:
        file: The file, or what was read of it.
        options: How it is read.

    Raises:
        DataError: If no rows can be read.
    """
    table = read_table(file, options, most=SAMPLE)
    guess, clear, problems = {}, {}, []
    for kind in COLUMN_ROLES if table.format != "text" else ["texts"]:
        try:
            guess[kind] = choose_columns(table, kind)
        except DataError as error:
            problems.append(error.with_traceback(None))
            clear[kind] = clear_columns(table, kind)
    first = list(zip(*(values[:SHOWN] for values in table.cells), strict=True))
    scripts = dict(zip(table.columns, map(main_script, table.cells), strict=True))
    kind = _likeliest(table, guess)
    return Preview(
        format=table.format,
        columns=table.columns,
        guess=guess,
        rows=pd.DataFrame(first, columns=list(table.columns), dtype=object),
        kind=kind,
        encoding=table.encoding,
        scripts=scripts,
        is_sure=_is_sure(table, kind, guess, scripts),
        lacks_header=lacks_header(table),
        flags=flags_of(table),
        sheets=table.sheets,
        num_rows=len(table.lines),
        problem=next(iter(problems), None),
        clear=clear,
    )


def read_labelled(
    file: str | Path | Source,
    columns: Mapping[str, str] | None = None,
    options: ReadOptions = RECOGNISED,
) -> pd.DataFrame:
    """Read labelled texts from CSV (commas, semicolons, bars), TSV, JSON, fastText's form or a workbook.

    Args:
        file: The file, plain or gzip, or what was read of it.
        columns: role ("text", "label", "second", "group") -> column in the file; missing roles are guessed,
            except the group, which keeps rows together when they are split. A second text stands behind the
            first and a "[SEP]".
        options: How it is read.

    Returns:
        Columns text and label, and group if it was named, all as strings exactly as in the file ("NA",
        "1.0"), in file order; `attrs["bad_rows"]` is the `BadRows` of the file,
        `attrs["sha256"]` its SHA-256 in hexadecimal.

    Raises:
        DataError: If the file is anything else, or has rows that cannot be used and are not to be left out;
            names file, place and remedy.
    """
    source = Source.of(file)
    frame = _read(source, "labels", columns, options)
    labels = len(set(frame["label"]))
    if labels > (MOST_LABELS if options.many_labels else MAX_LABELS):
        code = "labels.many" if labels <= MOST_LABELS else "labels.most"
        column = frame.attrs["columns"]["label"]
        raise DataError(code, path=source.path, labels=labels, most=MOST_LABELS, column=column)
    return frame


def read_pairs(
    file: str | Path | Source,
    columns: Mapping[str, str] | None = None,
    options: ReadOptions = RECOGNISED,
) -> pd.DataFrame:
    """Read texts and the targets a decoder is trained to write; otherwise as `read_labelled`.

    Args:
        file: The file.
        columns: role ("text" or "source", "target", "group") -> column in the file.
        options: How it is read.

    Returns:
        Columns text and target, and group if it was named; `attrs` as of `read_labelled`.

    Raises:
        DataError: As `read_labelled`.
    """
    return _read(file, "pairs", columns, options)


def read_texts(
    file: str | Path | Source,
    columns: Mapping[str, str] | None = None,
    options: ReadOptions = RECOGNISED,
) -> pd.DataFrame:
    """Read texts for next-token prediction: plain text, one text on a line, or a table.

    Args:
        file: The file; empty lines of a plain text are skipped.
        columns: role ("text", "group") -> column in the file, if it is a table.
        options: How it is read.

    Returns:
        Column text, and group if it was named; `attrs` as of `read_labelled`.

    Raises:
        DataError: As `read_labelled`.
    """
    return _read(file, "texts", columns, options)


def read_for_decoder(
    file: str | Path | Source,
    columns: Mapping[str, str] | None = None,
    options: ReadOptions = RECOGNISED,
) -> pd.DataFrame:
    """Read the training data of a decoder alone: pairs if the file has a target, else texts.

    Args:
        file: The file.
        columns: As for `read_pairs` or `read_texts`.
        options: How it is read.

    Returns:
        Columns text and target, and group if it was named; the target of a text alone is empty; `attrs` as of
        `read_labelled`.

    Raises:
        DataError: As `read_labelled`.
    """
    columns = columns or {}
    needed = COLUMN_ROLES["pairs"] if columns.keys() & {"target", "source"} else COLUMN_ROLES["texts"]
    source = Source.of(file)
    table = read_table(source, options, needed=needed if columns else None)
    if columns.keys() & {"target", "source"} or (not columns and _has_target(table)):
        return _frame(source, table, "pairs", columns, options)
    frame = _frame(source, table, "texts", columns, options)
    frame.insert(1, "target", "")
    return frame


def _has_target(table):
    """Return whether a table has a column with a well-known name of a target."""
    try:
        return table.format != "text" and is_known(choose_columns(table, "pairs")["target"])
    except DataError:
        return False


def _read(file, kind, columns, options):
    """Return the chosen columns of a file; `attrs["columns"]` maps roles to their names."""
    source, needed = Source.of(file), None if kind == "texts" and not columns else COLUMN_ROLES[kind]
    return _frame(source, read_table(source, options, needed=needed), kind, columns, options)


def _frame(source, table, kind, columns, options):
    """Return the chosen columns of a table without its bad rows, if these are to be left out."""
    chosen, bad = choose_columns(table, kind, columns), table.bad
    values = {role: table.cells[table.columns.index(name)] for role, name in chosen.items()}
    kept = range(len(table.lines))
    for role, column in values.items():
        most = MAX_LABEL if role == "label" else MAX_CHARS
        if all(type(cell) is str and cell and not cell.isspace() and len(cell) <= most for cell in column):
            continue
        out = {index: fault for index in kept if (fault := _fault(column[index], most))}
        for index, fault in out.items():
            bad.add(
                f"{fault}.{'text' if role == 'second' else role}",
                table.lines[index],
                [each[index] for each in table.cells],
            )
        kept = [index for index in kept if index not in out] if out else kept
    if bad.count and not (options.skip_bad_rows and kept):
        raise bad.refusal()
    frame = pd.DataFrame(
        {role: _plain(column, role, kept) for role, column in values.items()},
        columns=[role for role in (*COLUMN_ROLES[kind], *OPTIONAL[kind], "group") if role in chosen],
        dtype=object,
    )
    if "second" in frame:
        frame["text"] = frame["text"] + f" {SECOND} " + frame.pop("second")
    frame.attrs |= {"columns": chosen, "bad_rows": bad, "sha256": source.sha256}
    return frame


def _fault(value, most):
    """Return the kind of fault of a cell, as in `BadRow`; "" if it can be used: a text, not too long."""
    if value is None:
        return "missing"
    if type(value) is not str:
        return "several"
    if not value or value.isspace():
        return "missing"
    return "long" if len(value) > most else ""


def _plain(column, role, kept):
    """Return the cells of some rows; only texts keep their outer spaces."""
    if role in ("text", "second"):
        return [column[index] for index in kept]
    return [column[index].strip() for index in kept]


def _likeliest(table, guess):
    """Return the likeliest kind of a file: labels repeat, targets do not."""
    if "labels" in guess:
        labels = list(map(str, table.cells[table.columns.index(guess["labels"]["label"])]))
        if "pairs" not in guess or len(set(labels)) <= min(MAX_LABELS, len(labels) / 2):
            return "labels"
    return next((kind for kind in ("pairs", "texts") if kind in guess), None)


def _is_sure(table, kind, guess, scripts):
    """Return whether the kind of a file follows from it.

    Pairs are sure if they are called so, or if text and target are of two scripts: a title and its article
    are two texts as well. Texts are sure if there is nothing else in the file but their numbers.
    """
    if kind == "pairs":
        text, target = (guess[kind][role] for role in COLUMN_ROLES[kind])
        has_two_scripts = all((scripts[text], scripts[target])) and scripts[text] != scripts[target]
        return is_known(target) or has_two_scripts
    if kind == "texts":
        others = [name for name in table.columns if name != guess[kind]["text"]]
        return all(is_numbering(table, name) for name in others)
    return kind == "labels"
