"""One matrix as the browser draws it in place, beside others of the same tokens."""

import base64

import numpy as np

from transformer_viz.pictures.figures.theme import DIVERGING, GAP, HEADS, SEQUENTIAL
from transformer_viz.text.tokenizer import visible

MAX_LARGE = 16
"""More tokens than this are written small."""

MAX_RULED = 40
"""More tokens than this stand without a line between them."""

BLANK = "␠"
"""Stands for a token of blanks."""


def panel(
    values,
    tokens,
    *,
    says,
    limit=1.0,
    signed=False,
    scale=True,
    sums=None,
    theme="light",
):
    """Return a matrix as `panel.js` reads it.

    Args:
        values: float (query, key), NaN = masked, a gap.
        tokens: Display strings of the queries, and of the keys.
        says: What is said of a cell, with {row}, {column} and {value} for what is in it, or {change} for that
            with its sign, and of a gap; None: nothing.
        limit: Value at the end of the colour scale, above 0.
        signed: Centre the scale on zero; otherwise it begins at 0.
        scale: Draw the scale below.
        sums: Title of the sums of the rows, and the sums, float (query,) from 0 to 1; None: they are not
            drawn.
        theme: "light" or "dark".

    Returns:
        What can be written as JSON; the values are float32 in base64.

    Raises:
        ValueError: If the tokens do not fit the values.
    """
    values, (rows, columns) = np.asarray(values, np.float32), tokens
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"`values` must be (query, key) = {(len(rows), len(columns))}, one row and one column for each "
            f"token. Received shape {values.shape}."
        )
    ends = (-limit, 0, limit) if signed else (0, limit)
    most = max(values.shape)
    return {
        "values": base64.b64encode(values.tobytes()).decode(),
        "rows": [visible(token) or BLANK for token in rows],
        "columns": [visible(token) or BLANK for token in columns],
        "says": list(says),
        "colours": (DIVERGING if signed else SEQUENTIAL)[theme],
        "limit": float(limit),
        "signed": signed,
        "ticks": [f"{end:.2g}" for end in ends] if scale else [],
        "lines": most <= MAX_RULED,
        "pixels": 12 if most <= MAX_LARGE else 10,
        "sums": sums and _sums(*sums, theme),
        "fit": "wide",
        "back": GAP[theme],
    }


def _sums(title, sums, theme):
    """Return the sums of the rows; those of 1 have a colour of their own."""
    colours = [HEADS[theme][0 if abs(each - 1) < 1e-3 else 1] for each in sums]
    return {"title": title, "values": [float(each) for each in sums], "colours": colours}
