"""Reader of fastText's form: "__label__good a film", one text on each line."""

from array import array
from pathlib import Path

from transformer_viz.data.bad_rows import BadRows
from transformer_viz.data.layout import LABEL_MARK
from transformer_viz.data.table import Table, check_count, row_limit


def read_fasttext(path: Path, text: str, most: int | None) -> Table:
    """Read labelled texts; several labels of one text are joined by "|".

    Args:
        path: Origin of the text, for errors.
        text: The whole file.
        most: Rows to read; None: all.

    Raises:
        DataError: If there are too many rows.
    """
    texts, labels, lines, bad = [], [], array("Q"), BadRows(str(path))
    for number, line in enumerate(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), 1):
        if not line or line.isspace():
            bad.blank += 1
            continue
        words, found = line.split(" "), []
        while words and (not words[0] or words[0].startswith(LABEL_MARK)):
            found.append(words.pop(0).removeprefix(LABEL_MARK))
        texts.append(" ".join(words))
        labels.append("|".join(filter(None, found)) or None)
        lines.append(number)
        if len(lines) == row_limit(most):
            break
    check_count(path, len(lines))
    return Table(path, "fasttext", ("text", "label"), [texts, labels], lines, bad)
