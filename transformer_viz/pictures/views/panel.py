"""The payload of one matrix that the browser draws in place."""

import base64
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.pictures.theme import DIVERGING, GAP, HEADS, SEQUENTIAL
from transformer_viz.text.shown import BLANK
from transformer_viz.text.unicode import visible

MAX_LARGE = 16
"""Maximum number of tokens labelled in large type."""

MAX_RULED = 40
"""Maximum number of tokens with grid lines between the cells."""


Written = Literal["shares", "numbers"]
"""What stands in the cells of a matrix."""


class Scale(NamedTuple):
    """The colour scale of a matrix.

    Attributes:
        limit: Value at its end, above 0.
        signed: Centre it on 0; otherwise it starts at 0.
        drawn: Draw it below the matrix.
    """

    limit: float = 1.0
    signed: bool = False
    drawn: bool = True


UNIFORM = 3
"""The colour scale of attention weights ends at no less than this many times that of uniform attention."""

UNIT_SCALE = Scale()
"""From 0 to 1."""


def weight_limit(largest: float, visible: ArrayLike) -> float:
    """Return where the colour scale of attention weights ends; `weightLimit` in colour.js is the same.

    It ends at the largest weight, but not below three times the weight of uniform attention, so that a
    uniform head is pale; at most at 1.

    Args:
        largest: The largest weight, in [0, 1].
        visible: bool (..., query, key), True = the query may attend to the key.
    """
    keys = np.asarray(visible).sum(axis=-1).max(initial=1)
    return max(float(largest), min(1.0, UNIFORM / int(keys)))


def percent(share: float) -> str:
    """Return a weight, or a difference of two, in percent with at most one decimal; what is not 0 is not
    written as 0. `percent` in text.js is the same.
    """
    points, sign = abs(100 * share), "−" if share < 0 else ""
    return f"{sign}<0.1%" if 0 < points < 0.05 else f"{sign}{points:.1f}".removesuffix(".0") + "%"


def panel(
    values: ArrayLike,
    tokens: tuple[Sequence[str], Sequence[str]],
    *,
    says: Sequence[str | None],
    scale: Scale = UNIT_SCALE,
    sums: tuple[str, Sequence[float] | np.ndarray] | None = None,
    written: Written | None = None,
    theme: str = "light",
) -> dict[str, Any]:
    """Return a matrix in the format of `panel.js`.

    Args:
        values: float (query, key); NaN = masked, drawn as a gap.
        tokens: Display strings of the queries and of the keys.
        says: Tooltip templates of a cell, with {row}, {column} and {value} or {change} (the value with its
            sign), and of a gap; None: no tooltip.
        scale: The colour scale.
        written: What the values are that stand in their cells, where they fit: shares as percentages, or
            numbers; None: none stand there.
        sums: Title and values of the row sums, float (query,) from 0 to 1; None: not drawn.
        theme: "light" or "dark".

    Returns:
        JSON-serialisable; the values are float32 in base64.

    Raises:
        ValueError: If the tokens do not fit the values.
    """
    values, (rows, columns) = np.asarray(values, np.float32), tokens
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"`values` must be (query, key) = {(len(rows), len(columns))}, one row and one column for each "
            f"token. Received shape {values.shape}."
        )
    ends = (-scale.limit, 0, scale.limit) if scale.signed else (0, scale.limit)
    number = percent if written == "shares" else "{:.2g}".format
    longest = max(values.shape)
    return {
        "values": base64.b64encode(values.tobytes()).decode(),
        "rows": [visible(token) or BLANK for token in rows],
        "columns": [visible(token) or BLANK for token in columns],
        "says": list(says),
        "colours": (DIVERGING if scale.signed else SEQUENTIAL)[theme],
        "limit": float(scale.limit),
        "signed": scale.signed,
        "ticks": [number(end) for end in ends] if scale.drawn else [],
        "lines": longest <= MAX_RULED,
        "written": written == "shares",
        "numbers": written == "numbers",
        "plus": written == "shares" and scale.signed,
        "pixels": 12 if longest <= MAX_LARGE else 10,
        "sums": sums and _sums(*sums, theme),
        "fit": "wide",
        "back": GAP[theme],
    }


def _sums(title, sums, theme):
    """Return the row sums; those equal to 1 have a colour of their own."""
    colours = [HEADS[theme][0 if abs(each - 1) < 1e-3 else 1] for each in sums]
    return {"title": title, "values": [float(each) for each in sums], "colours": colours}
