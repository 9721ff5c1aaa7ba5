"""Rows as they stand in a file that people open."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from transformer_viz.language import Problem

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet takes for a formula."""

FORMATS = (".csv", ".jsonl")
"""Suffixes of the files that can be written."""


def written(frame: pd.DataFrame, suffix: str, *, has_header: bool = True) -> bytes:
    """Return rows as they stand in a file, numbers with six digits after the point.

    Args:
        frame: The rows; what is no number is a text.
        suffix: ".csv": UTF-8 with a byte order mark, and an apostrophe before what a spreadsheet takes for a
            formula; or ".jsonl".
        has_header: Whether they are the first of the file.
    """
    if suffix == ".jsonl":
        rows = frame.round(6).to_dict("records")
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    safe = frame.copy()
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in safe.dtypes]]:
        safe[name] = [f"'{cell}" if str(cell).startswith(FORMULA) else cell for cell in safe[name]]
    text = safe.to_csv(index=False, header=has_header, lineterminator="\n", float_format="%.6f")
    return text.encode("utf-8-sig" if has_header else "utf-8")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an `OSError` of the block as a `Problem` that names the file."""
    try:
        yield
    except OSError as error:
        raise Problem("store.not_written", place=path, reason=error.strerror or str(error)) from None
