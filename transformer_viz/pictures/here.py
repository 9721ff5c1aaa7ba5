"""What one head does in the text that is shown, by its weights in this text alone."""

from typing import NamedTuple

import numpy as np

from transformer_viz.questions.roles.patterns import TextPatterns
from transformer_viz.questions.roles.result import Role
from transformer_viz.questions.roles.rules import CROSS_PATTERNS, MIN_RATIO, MIN_SHARE, SELF_PATTERNS

MIN_GATHERED = 0.5
"""Least weight of a row on a token for it to be said to read that token, where not every row does."""

MOST_EVEN = 2
"""Largest multiple of an even share that a token gets in any row, where the weight is spread evenly."""

PLACES = {*SELF_PATTERNS, *CROSS_PATTERNS} - {"first"}
"""Patterns that are said as such; of the first token its name is said."""


class Here(NamedTuple):
    """What one head does in one text.

    Attributes:
        name: "nothing", if no row has any weight; "alone", if each may attend to one token only; "even";
            "every", if all rows read the same token most; one of `PLACES`, held by most of the rows that can
            show it; "focused", if different rows read different tokens; "read", if some rows read the same
            one; else "mixed".
        share: Weight from 0 to 1: the mean over the rows that it is said of, for "even" the largest one.
        each: Whether all rows that can show a pattern do; for "even", whether all may attend to every token.
        key: The token that is read.
        queries: The rows that read it, for "mixed" the one that gives most to one token; else none.
        shares: Weight that each of these gives to it, 0 to 1.
        rows: Number of rows with any weight.
        ratio: Largest multiple of an even share that a token gets in a row; of "even" alone.
    """

    name: str
    share: float = 0.0
    each: bool = True
    key: int = 0
    queries: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    rows: int = 0
    ratio: float = 0.0


def here_of(weights: np.ndarray, text: TextPatterns, role: Role) -> Here:
    """Return what a head does in one text.

    Args:
        weights: float (query, key), rows summing to 1 or less; a row of NaN has no weight.
        text: Where the patterns are in this text.
        role: Role of the head in this text.
    """
    weights = np.nan_to_num(weights)
    reading = np.flatnonzero(weights.max(axis=-1, initial=0) > 0)
    if not weights[text.rows].any():
        return Here("nothing")
    if not text.has_choice:
        return Here("alone", rows=len(reading))
    said = (
        _even(weights, text, role)
        or _every(weights, text, reading)
        or _pattern(weights, text, role)
        or _focused(weights, text, role)
        or _shared(weights, text, role, reading)
        or _largest(weights, text)
    )
    return said._replace(rows=len(reading))


def _even(weights, text, role):
    most = weights[text.rows].max(axis=-1)
    ratio = float((most * text.choices).max())
    if role.name != "even" or ratio > MOST_EVEN:
        return None
    is_alike = bool((text.choices == weights.shape[1]).all())
    return Here("even", float(most.max()), each=is_alike, ratio=ratio)


def _every(weights, text, reading):
    """Return the token with the largest weight of every row, clearly more than an even share of it."""
    keys = weights[reading].argmax(axis=-1)
    shares = weights[text.rows, keys[0]]
    are_clear = shares * text.choices >= MIN_RATIO
    if (keys != keys[0]).any() or not are_clear[shares > 0].all() or shares.mean() < MIN_SHARE:
        return None
    return _reading("every", weights, keys[0], reading)


def _pattern(weights, text, role):
    """Return the pattern of the head's role, if most rows that can show it have the largest weight there."""
    if role.name not in PLACES:
        return None
    number = text.names.index(role.name)
    chosen = weights[text.rows]
    is_there = text.cells[np.arange(len(chosen)), chosen.argmax(axis=-1), number] > 0
    able = text.able[:, number]
    held = is_there & able & (chosen.max(axis=-1) > 0)
    if 2 * held.sum() <= able.sum():
        return None
    return Here(role.name, role.share, each=held.sum() == able.sum())


def _focused(weights, text, role):
    chosen = weights[text.rows]
    most_rows = _gathered(weights, text)[1]
    if role.name != "focused" or 2 * most_rows >= len(chosen):
        return None
    return Here("focused", float(chosen.max(axis=-1).mean()))


def _shared(weights, text, role, reading):
    """Return the token that several rows read: with `MIN_GATHERED` each, or with less, but most of them."""
    strongest = weights[reading].argmax(axis=-1)
    key, count = _gathered(weights, text)
    if count > 1:
        strong = weights[reading, key] >= MIN_GATHERED
        return _reading("read", weights, key, reading[strong & (strongest == key)])
    key = weights[text.rows].mean(axis=0, dtype=np.float64).argmax()
    led = reading[strongest == key]
    if role.name in ("first", "token") and 2 * len(led) > len(reading):
        return _reading("read", weights, key, led)
    return None


def _gathered(weights, text):
    """Return the token to which most rows give at least `MIN_GATHERED`, and the number of these rows."""
    chosen = weights[text.rows]
    strong = chosen.argmax(axis=-1)[chosen.max(axis=-1) >= MIN_GATHERED]
    counts = np.bincount(strong, minlength=weights.shape[1])
    return counts.argmax(), counts.max()


def _largest(weights, text):
    chosen = weights[text.rows]
    row, key = np.unravel_index(chosen.argmax(), chosen.shape)
    return _reading("mixed", weights, key, text.rows[[row]])


def _reading(name, weights, key, queries):
    shares = weights[queries, key]
    return Here(
        name,
        float(shares.mean()),
        key=int(key),
        queries=tuple(queries.tolist()),
        shares=tuple(shares.tolist()),
    )
