"""Tables that visitors save."""


def csv_for_excel(csv: str) -> str:
    """Return a table of CSV with a byte order mark, without which Excel does not read Chinese."""
    return "\ufeff" + csv
