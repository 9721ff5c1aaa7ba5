"""Reader of the first filled sheet of a workbook: Excel's .xlsx and .xls, OpenDocument's .ods."""

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.building import table_of
from transformer_viz.data.files import MAX_BYTES, DataError
from transformer_viz.data.layout import Layout, titles_in
from transformer_viz.data.table import Table

_OLD = b"\xd0\xcf\x11\xe0"
"""First bytes of .xls, and of other files of old Office programs."""

_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
"""A file within a workbook, which is a zip archive: of .xlsx, of .xlsb, of .ods."""

_SAMPLE_ROWS = 50


def is_workbook(data: bytes) -> bool:
    """Return whether the content of a file is that of a workbook."""
    if data.startswith(_OLD):
        return True
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        return not {*_PARTS}.isdisjoint(zipfile.ZipFile(io.BytesIO(data)).namelist())
    except zipfile.BadZipFile:
        return False


def read_workbook(
    path: Path, data: bytes, most: int | None, *, has_header: bool, most_bytes: int = MAX_BYTES
) -> Table:
    """Read the first sheet with any cells, each as the text that Excel would write to a CSV.

    Args:
        path: The file, for errors.
        data: Its content.
        most: Rows to read; None: all.
        has_header: Whether the first row names the columns.
        most_bytes: Most bytes, decompressed.

    Raises:
        DataError: If it is damaged, encrypted, or no workbook; or as for the other readers.
    """
    sheets = _sheets(path, data, most_bytes)
    if not sheets:
        raise DataError("workbook.empty", path=path)
    _, cells = next(iter(sheets.items()))
    rows = [list(map(_text, row)) for row in cells.itertuples(index=False)]
    filled = [row for row in rows if any(row)][:_SAMPLE_ROWS]
    layout = Layout("workbook", above=titles_in(filled))
    bad = BadRows(str(path))
    table = table_of(path, layout, enumerate(rows, 1), bad, most=most, has_header=has_header)
    return table._replace(encoding="", sheets=tuple(sheets))


def _sheets(path: Path, data: bytes, most_bytes: int) -> dict[str, pd.DataFrame]:
    """Return name -> cells of the sheets that have any."""
    if not data.startswith(_OLD):
        size = sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(data)).infolist())
        if size > most_bytes:
            raise DataError("file.large", path=path, most=most_bytes // 2**20)
    try:
        found = pd.read_excel(
            io.BytesIO(data), sheet_name=None, header=None, dtype=object, engine="calamine", na_filter=False
        )
    except Exception as error:  # calamine's own, and those of its parsers
        raise DataError("workbook.damaged", path=path, reason=str(error)) from None
    return {str(name): cells for name, cells in found.items() if cells.astype(bool).to_numpy().any()}


def _text(value: Any) -> str:
    """Return the value of a cell as Excel would write it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value)
