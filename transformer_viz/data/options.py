"""How a person says that a file is to be read."""

from typing import NamedTuple


class ReadOptions(NamedTuple):
    """How a file is read, as far as it is not recognised.

    Attributes:
        encoding: One of `encodings.ENCODINGS`; "": it is recognised.
        has_header: Whether the first row names the columns; if not, they are numbered.
        skip_bad_rows: Leave out rows that cannot be used, instead of refusing the file.
        many_labels: Accept up to `columns.MOST_LABELS` labels instead of `columns.MAX_LABELS`.
    """

    encoding: str = ""
    has_header: bool = True
    skip_bad_rows: bool = False
    many_labels: bool = False


RECOGNISED = ReadOptions()
"""Everything is recognised, and every row is to be used."""
