"""What heads do in one text: where the patterns are, how much of the weight lies on them, and the roles."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.questions.roles.rules import (
    CROSS_PATTERNS,
    NEARBY,
    ROLES,
    SELF_PATTERNS,
    SHAPES,
    holds,
    name_role,
)
from transformer_viz.questions.roles.scores import induction_cells, row_entropy


class TextPatterns(NamedTuple):
    """Where the patterns are in the attention matrix of one text, alike for all heads.

    Rows with fewer than two unmasked keys show nothing and are left out, if there are others.

    Attributes:
        names: Of the measures: the patterns, the words typical of labels, and `SHAPES`.
        cells: float32 (row, key, pattern), 1 where the pattern is.
        able: bool (row, pattern), rows that could show the pattern: it is somewhere in them.
        rows: int (row,), their indices among the queries.
        allowed: bool (row, key), unmasked keys.
        has_choice: Whether rows have more than one unmasked key.
    """

    names: tuple[str, ...]
    cells: np.ndarray
    able: np.ndarray
    rows: np.ndarray
    allowed: np.ndarray
    has_choice: bool

    @property
    def support(self) -> np.ndarray:
        """Share of rows that could show each measure: float (measure,)."""
        return np.append(self.able.mean(axis=0), np.ones(len(SHAPES)))


class PatternShares(NamedTuple):
    """What the heads of a layer do in one text, beside the same under uniform attention.

    Attributes:
        names: Of the measures, as `measures_of` returns them.
        share: float (head, measure): weight on the pattern, averaged over rows that could show it; NaN if no
            row could. For "token" the weight of the most-read key, for "focused" the mean weight of each
            row's most-read key, for "even" the entropy relative to that of uniform attention.
        even: float (head, measure), the same for uniform attention over the unmasked keys.
        support: float (measure,), share of rows that could show it.
        key: int (head,), the most-read key.
        leading: int (head,), rows whose most-read key is that one.
        rows: Number of rows.
        width: float (head,), effective number of keys: exp of the mean entropy.
        lopsided: bool (head,), whether some key gets at least twice its weight under uniform attention.
    """

    names: tuple[str, ...]
    share: np.ndarray
    even: np.ndarray
    support: np.ndarray
    key: np.ndarray
    leading: np.ndarray
    rows: int
    width: np.ndarray
    lopsided: np.ndarray


def text_patterns(
    mask: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    cross: bool = False,
    typical: Mapping[str, np.ndarray] | None = None,
) -> TextPatterns:
    """Return where the patterns are in the attention matrix of a text.

    Tokens are nearby only in rows that may attend to others, too. A pattern in a single row is left out if
    there are others: one row is no habit.

    Args:
        mask: bool (head or 1, query or 1, key), True = may attend.
        query_tokens: Texts of the rows.
        key_tokens: Texts of the columns.
        cross: Whether this is cross-attention.
        typical: Keys in words typical of each label, as `typical_keys` returns them; None: not measured.
    """
    shape = len(query_tokens), len(key_tokens)
    allowed = np.broadcast_to(np.asarray(mask).any(axis=0), shape)
    free = allowed.sum(axis=-1) > 1
    rows = np.flatnonzero(free if free.any() else allowed.any(axis=-1))
    typical = typical or {}
    names = (*(CROSS_PATTERNS if cross else SELF_PATTERNS), *typical)
    found: dict[str, np.ndarray] = _cross_cells(*shape) if cross else _self_cells(query_tokens, allowed)
    found["first"] = np.broadcast_to(np.arange(shape[1]) == 0, shape)
    found["punctuation"] = np.broadcast_to([*map(is_punctuation, key_tokens)], shape).astype(bool)
    found |= {name: np.broadcast_to(keys, shape) for name, keys in typical.items()}
    cells = np.stack([found[name][rows] & allowed[rows] for name in names], axis=-1)
    able = cells.any(axis=1)
    able &= able.sum(axis=0) >= min(2, len(rows))
    return TextPatterns(
        (*names, *SHAPES), cells.astype(np.float32), able, rows, allowed[rows], bool(free.any())
    )


def patterns_by_layer(
    masks: ArrayLike, layers: int, *tokens: Sequence[str], **options: Any
) -> list[TextPatterns]:
    """Return `text_patterns` for each layer of a text; layers with the same mask share them.

    Args:
        masks: bool (layer or 1, head or 1, query or 1, key), True = may attend.
        layers: Number of layers.
        *tokens: Texts of the rows, and of the columns.
        **options: As for `text_patterns`.
    """
    found: dict[bytes, TextPatterns] = {}
    masks = np.asarray(masks)
    names = [mask.tobytes() for mask in masks]
    for name, mask in zip(names, masks, strict=True):
        if name not in found:
            found[name] = text_patterns(mask, *tokens, **options)
    return [found[name] for name in (names if len(names) > 1 else names * layers)]


def pattern_shares(text: TextPatterns, weights: ArrayLike) -> PatternShares:
    """Return how much of each head's attention lies on each pattern.

    Args:
        text: As `text_patterns` returns it; at least one row.
        weights: float (head, query, key), rows summing to 1 or 0.
    """
    weights = np.asarray(weights, np.float64)[:, text.rows]
    choices = text.allowed.sum(axis=-1)
    evenly = (text.allowed / choices[:, None])[None]
    share, even = (np.einsum("rhp,rp->hp", _on(each, text.cells), text.able) for each in (weights, evenly))
    count = text.able.sum(axis=0)
    share, even = (np.divide(s, count, out=np.full(s.shape, np.nan), where=count > 0) for s in (share, even))
    even = np.broadcast_to(even, share.shape)
    received, fair = weights.mean(axis=1), evenly[0].mean(axis=0)
    key = received.argmax(axis=-1)
    entropy = row_entropy(weights)
    free = choices > 1
    relative = entropy[:, free] / np.log(choices[free])
    evenness = relative.mean(axis=-1) if free.any() else np.full(len(weights), np.nan)
    shapes = [np.take_along_axis(received, key[:, None], -1)[:, 0], weights.max(-1).mean(-1), evenness]
    plain = [fair[key], np.full(len(key), (1 / choices).mean()), np.ones(len(key))]
    share, even = (np.column_stack([s, *more]) for s, more in ((share, shapes), (even, plain)))
    return PatternShares(
        text.names,
        share,
        even if text.has_choice else np.zeros_like(even),
        text.support,
        key,
        (weights.argmax(axis=-1) == key[:, None]).sum(axis=-1),
        len(text.rows),
        np.exp(entropy.mean(axis=-1)),
        (received >= 2 * np.where(fair > 0, fair, np.inf)).any(axis=-1) & text.has_choice,
    )


def is_punctuation(token: str) -> bool:
    """Return whether a token is a punctuation mark or another sign, not a word, a number or [START].

    >>> [token for token in ("a", "▁,", "##.", "[START]", "3", "。") if is_punctuation(token)]
    ['▁,', '##.', '。']
    """
    signs = token.removeprefix("##").strip("▁ ")
    return bool(signs) and not any(sign.isalnum() for sign in signs)


def _on(weights, cells):
    """Return the weight of each row on each pattern: float (row, head, pattern)."""
    return weights.transpose(1, 0, 2) @ cells.astype(weights.dtype, copy=False)


def _self_cells(tokens, allowed) -> dict[str, np.ndarray]:
    """Return pattern -> its cells in self-attention: bool (query, key)."""
    count = len(tokens)
    texts = np.array([*map(str.lower, tokens)], dtype=object)
    same = np.asarray(texts[:, None] == texts[None, :], bool).reshape(count, count)
    places = np.arange(count)
    near = np.abs(places - places[:, None]) <= NEARBY
    return {
        "itself": np.eye(count, dtype=bool),
        "previous": np.eye(count, k=-1, dtype=bool),
        "next": np.eye(count, k=1, dtype=bool),
        "same": same & ~np.eye(count, dtype=bool),
        "after_same": induction_cells(same),
        "nearby": near & (allowed & ~near).any(axis=1, keepdims=True),
    }


def _cross_cells(queries, keys) -> dict[str, np.ndarray]:
    """Return the same for cross-attention: cells next to the diagonals, if the matrix has room for both."""
    if min(queries, keys) < 3:
        return dict.fromkeys(("diagonal", "antidiagonal"), np.zeros((queries, keys), bool))
    places = np.linspace(0, keys - 1, queries)[:, None]
    distance = np.abs(np.arange(keys)[None, :] - places)
    return {"diagonal": distance <= 1, "antidiagonal": distance[:, ::-1] <= 1}


class Role(NamedTuple):
    """The role of a head in one text.

    Attributes:
        name: One of `ROLES`.
        share: Share of the attention on the pattern, 0 to 1, averaged over rows that could show it; for
            "even" and "mixed" the effective number of keys: exp of the mean entropy.
        key: Index of the most-read key.
        support: Share of rows that could show the pattern.
        leading: Number of rows whose most-read key is `key`.
        rows: Number of rows.
    """

    name: str
    share: float
    key: int
    support: float = 1.0
    leading: int = 0
    rows: int = 0


def roles(
    weights: ArrayLike,
    mask: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    cross: bool = False,
    possible: Collection[str] = ROLES,
) -> list[Role]:
    """Return the role of each head of a layer in one text.

    Rows with fewer than two unmasked keys are left out if there are others. If everything is masked, every
    head is "mixed" over 0 keys.

    Args:
        weights: float (head, query, key), rows summing to 1 or 0.
        mask: bool (head or 1, query, key), True = may attend.
        query_tokens: Texts of the rows.
        key_tokens: Texts of the columns.
        cross: Whether this is cross-attention.
        possible: Patterns that the layer can have, as `possible_patterns` returns them.
    """
    text = text_patterns(mask, query_tokens, key_tokens, cross=cross)
    if not len(text.rows):
        return [Role("mixed", 0.0, 0)] * len(np.asarray(weights))
    return roles_of_shares(pattern_shares(text, weights), possible)


def held_patterns(found: PatternShares, possible: Collection[str]) -> np.ndarray:
    """Return which roles the heads of a layer hold in one text: bool (head, measure).

    A head is "even" only if no key gets twice its weight under uniform attention.

    Args:
        found: As `pattern_shares` returns it.
        possible: Patterns that the layer can have.
    """
    held = holds(found.names, found.share, found.even)
    held[found.lopsided, found.names.index("even")] = False
    return held & [name in possible for name in found.names]


def roles_of_shares(found: PatternShares, possible: Collection[str] = ROLES) -> list[Role]:
    """Return the role of each head of a layer in one text; arguments as in `held_patterns`."""
    roles = []
    for head, held in enumerate(held_patterns(found, possible)):
        name = name_role(found.names, found.share[head], found.support, held)
        counted = name in ("even", "mixed")
        number = None if counted else found.names.index(name)
        share = found.width[head] if number is None else found.share[head, number]
        support = 1.0 if number is None else float(found.support[number])
        counts = int(found.leading[head]), found.rows
        roles.append(Role(name, float(share), int(found.key[head]), support, *counts))
    return roles
