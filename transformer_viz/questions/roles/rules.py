"""Roles of heads: the patterns of attention, which of them a layer can have, and when a head has a role."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.interventions import ATTENTION_KINDS, attention_kinds

SELF_PATTERNS = ("itself", "previous", "next", "same", "after_same", "first", "punctuation", "nearby")
"""Patterns of self-attention: keys that are the query itself, the token before or after it, other occurrences
of its token, the token after an earlier occurrence of it (induction; Olsson et al., 2022), the first token,
punctuation marks, the tokens at most `NEARBY` places away.
"""

NEARBY = 4
"""Places between a query and the farthest token that is near it."""

CROSS_PATTERNS = ("diagonal", "antidiagonal", "first", "punctuation")
"""Patterns of cross-attention: keys at the query's relative place, counted from the beginning or the end of
the source; its first token; punctuation marks.
"""

SHAPES = ("token", "focused", "even")
"""Measures that every head has: the weight of the most-read token (one for all queries), the mean weight of
each query's own most-read token, and the entropy relative to uniform attention.
"""

MEASURES = {
    "encoder": SELF_PATTERNS + SHAPES,
    "decoder": SELF_PATTERNS + SHAPES,
    "cross": CROSS_PATTERNS + SHAPES,
}
"""Kind of attention -> names of the measures of its heads."""

WORDS = "words:"
"""Prefix of the measure of the words typical of a label, whose name follows."""

ROLES = (*SELF_PATTERNS, "diagonal", "antidiagonal", "words", *SHAPES, "mixed")
"""All roles of heads; "words", which only many texts show, is reading the words typical of some labels more
than evenly, "mixed" none of the others.
"""

MIN_SHARE = 0.35
"""Least share of a head's weight on a pattern for that role."""

MIN_NEARBY = 0.5
"""Least share of a head's weight on the tokens near a query for the role "nearby"."""

MIN_FOCUS = 0.5
"""Least mean weight of each query's most-read token for the role "focused"."""

MIN_COMMON = 2 / 3
"""Least ratio of the share "token" to the share "focused" for the role "token"; with less, different queries
read different tokens, and the role is "focused". In the 78 heads of the shipped translators that have
`MIN_FOCUS` over 15 sentences, the most-read token is that of 49 to 64 % of the queries above this ratio, of
41 to 49 % down to 0.6, and of 20 to 45 % below.
"""

MIN_RATIO = 1.5
"""Least ratio of these shares to those of uniform attention."""

MIN_EVENNESS = 0.9
"""Least entropy relative to uniform attention for the role "even"."""

MIN_AVERAGING = 0.98
"""Least entropy relative to uniform attention, over many texts, of a head that averages: its output is nearly
the mean of the values.
"""

MIN_TEXTS = 0.5
"""Least share of the texts that could show a role in which it is held, for a head's usual role."""

FEWEST_TEXTS = 100
"""Fewest texts from which the usual role of a head is stated."""

_CONTENT = {"itself", "same", "punctuation", *SHAPES}
"""Patterns that follow from the tokens alone, wherever they are."""

_PLACES = {*SELF_PATTERNS, *CROSS_PATTERNS} - {"nearby"}
"""Patterns of exact places; they take precedence over "nearby", which includes some of them."""


def words_measures(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the measures of the words typical of labels.

    >>> words_measures(["bad", "good"])
    ('words:bad', 'words:good')
    """
    return tuple(f"{WORDS}{label}" for label in labels)


def measures_of(kind: str, labels: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the measures of a kind of attention, those of words typical of labels included."""
    return (*MEASURES[kind][: -len(SHAPES)], *words_measures(labels), *SHAPES)


def possible_patterns(kind: str, layer: int, *, positions: bool, masked: bool, start: bool) -> frozenset[str]:
    """Return the patterns that a layer can have; whatever else its weights resemble is a coincidence.

    Attention without position encodings treats a text as a set of tokens (Vaswani et al., 2017, section
    3.5). A causal or window mask of the layers below gives places away (Haviv et al., 2022), but the first
    layer scores tokens before any of that has happened. Induction needs keys that know the token before
    them, so a layer below that has moved it there (Elhage et al., 2021).

    Args:
        kind: "encoder", "decoder" or "cross".
        layer: Layer, 0-based.
        positions: Whether position encodings are added.
        masked: Whether a causal or window mask restricts the stack's self-attention; for "cross", the
            encoder's.
        start: Whether the keys begin with [START].
    """
    if kind == "cross":
        ordered = positions or masked
        return frozenset(CROSS_PATTERNS + SHAPES if ordered else _CONTENT.intersection(MEASURES["cross"]))
    ordered = positions or (masked and layer > 0)
    found = set(_CONTENT)
    if ordered:
        found |= {"previous", "next", "first", "nearby"}
    if ordered and layer > 0:
        found.add("after_same")
    if start:
        found.add("first")
    return frozenset(found)


def patterns_of_config(config: TransformerConfig) -> dict[str, list[frozenset[str]]]:
    """Return kind of attention -> the patterns that each layer can have; see `possible_patterns`."""
    found = {}
    for kind in attention_kinds(config):
        causal, start = (True, True) if kind == "decoder" else (config.causal, config.reads_start)
        ordered = {"positions": config.positions != "none", "masked": causal or config.window is not None}
        layers = range(config.stacks[ATTENTION_KINDS[kind][0]])
        never = {"next"} if causal and kind != "cross" else set()
        found[kind] = [possible_patterns(kind, layer, **ordered, start=start) - never for layer in layers]
    return found


def are_possible(names: Sequence[str], possible: Sequence[Collection[str]]) -> np.ndarray:
    """Return which measures each layer can have: bool (layer, measure); every layer can read words.

    Args:
        names: Of the measures, as `measures_of` returns them.
        possible: Patterns that each layer can have.
    """
    return np.array([[name in each or name.startswith(WORDS) for name in names] for each in possible])


def holds(names: tuple[str, ...], share: ArrayLike, even: ArrayLike) -> np.ndarray:
    """Return which shares are large enough for a role of that name; words of a label need only the ratio.

    Args:
        names: Of the measures, as `measures_of` returns them.
        share: float (..., measure); NaN where it cannot be measured.
        even: float (..., measure), the same under uniform attention.

    Returns:
        bool (..., measure).
    """
    bounds = {"nearby": MIN_NEARBY, "focused": MIN_FOCUS, "even": MIN_EVENNESS}
    least = np.array([bounds.get(name, 0 if name.startswith(WORDS) else MIN_SHARE) for name in names])
    ratio = np.array([0 if name == "even" else MIN_RATIO for name in names])
    return (np.asarray(share) >= least) & (np.asarray(share) >= ratio * np.asarray(even))


def name_role(names: tuple[str, ...], share: np.ndarray, support: np.ndarray, held: np.ndarray) -> str:
    """Return the role of a head: of the patterns it holds, the one with the most weight over all rows.

    Without one, "nearby", then "token" or "focused", depending on whether the queries read the same token
    (`MIN_COMMON`), or "even"; else "mixed".

    Args:
        names: Of the measures, as `measures_of` returns them; words typical of a label name no role here.
        share: float (measure,), over rows that could show it.
        support: float (measure,), share of these rows.
        held: bool (measure,), which of them are large enough.
    """
    weight = {
        name: share[number] * support[number]
        for number, name in enumerate(names)
        if held[number] and name in _PLACES
    }
    if weight:
        return max(weight, key=lambda name: weight[name])
    token, focused = (share[names.index(name)] for name in ("token", "focused"))
    shapes = ("nearby", "token" if token >= MIN_COMMON * focused else "focused", "even")
    return next((name for name in shapes if name in names and held[names.index(name)]), "mixed")
