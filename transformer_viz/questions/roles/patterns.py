"""What heads do in one text: where the patterns are, and how much of each head's weight lies on them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.network.tensors import Attentions
from transformer_viz.questions.roles.result import KindRoles
from transformer_viz.questions.roles.rules import (
    NEARBY,
    SHAPES,
    WORDS,
    are_possible,
    holds,
    measures_of,
)
from transformer_viz.questions.roles.scores import divided, induction_cells, row_entropy


class TextPatterns(NamedTuple):
    """Where the patterns are in the attention matrix of one text, alike for all heads.

    Rows with fewer than two unmasked keys show nothing and are left out, if there are others.

    Attributes:
        names: Of the measures: the patterns, the words typical of labels, and `SHAPES`.
        cells: float32 (row, key, pattern), 1 where the pattern is.
        able: bool (row, pattern), rows that could show the pattern: it is somewhere in them.
        rows: int (row,), their indices among the queries.
        allowed: bool (row, key), unmasked keys.
    """

    names: tuple[str, ...]
    cells: np.ndarray
    able: np.ndarray
    rows: np.ndarray
    allowed: np.ndarray

    @property
    def choices(self) -> np.ndarray:
        """Number of unmasked keys: int (row,)."""
        return self.allowed.sum(axis=-1)

    @property
    def has_choice(self) -> bool:
        """Whether rows have more than one unmasked key."""
        return bool((self.choices > 1).any())

    @property
    def uniform(self) -> np.ndarray:
        """Uniform attention over the unmasked keys: float (row, key)."""
        return self.allowed / self.choices[:, None]

    @property
    def support(self) -> np.ndarray:
        """Share of rows that could show each measure: float (measure,)."""
        return np.append(self.able.sum(axis=0) / max(len(self.rows), 1), np.ones(len(SHAPES)))


def text_patterns(
    kind: str, found: Attentions, typical: Mapping[str, np.ndarray] | None = None
) -> list[TextPatterns]:
    """Return where the patterns are in each layer of a text; layers with the same mask share them.

    Tokens are nearby only in rows that may attend to others, too. A pattern in a single row is left out if
    there are others: one row is no habit.

    Args:
        kind: "encoder", "decoder" or "cross".
        found: Its attention.
        typical: Keys in words typical of each label, as `typical_keys` returns them; None: not measured.
    """
    known: dict[bytes, TextPatterns] = {}
    masks = [np.asarray(found.mask_of(layer)) for layer in range(len(found.layers))]
    for mask in masks:
        if mask.tobytes() not in known:
            known[mask.tobytes()] = _patterns_under(mask, kind, found, typical or {})
    return [known[mask.tobytes()] for mask in masks]


def roles_in_text(
    patterns: Sequence[TextPatterns], found: Attentions, possible: Sequence[Collection[str]]
) -> KindRoles:
    """Return what the heads of one kind of attention do in one text, by the rule for many.

    A head is "even" only if no key gets twice its weight under uniform attention. If everything is masked,
    all heads are "mixed".

    Args:
        patterns: Where the patterns are in each layer, as `text_patterns` returns them.
        found: The attention; each row sums to 1 or 0.
        possible: Patterns that each layer can have, as `patterns_of_config` returns them; those that it
            cannot have are measured, but not held.
    """
    names, support = patterns[0].names, np.stack([text.support for text in patterns])
    layers = [_shares(text, layer.weights) for text, layer in zip(patterns, found.layers, strict=True)]
    share, even, lopsided = (np.stack(each) for each in zip(*layers, strict=True))
    held = holds(names, share, even) & are_possible(names, possible)[:, None]
    held[..., names.index("even")] &= ~lopsided
    of_words = [name.startswith(WORDS) for name in names]
    ratio = divided(share[..., of_words], even[..., of_words])
    texts = (support[0] > 0).astype(int)
    no_spread = np.zeros_like(share), np.zeros_like(ratio)
    return KindRoles(names, share, no_spread[0], even, held, support, texts, ratio, no_spread[1])


def is_punctuation(token: str) -> bool:
    """Return whether a token is a punctuation mark or another sign, not a word, a number or [START].

    >>> [token for token in ("a", "▁,", "##.", "[START]", "3", "。") if is_punctuation(token)]
    ['▁,', '##.', '。']
    """
    signs = token.removeprefix("##").strip("▁ ")
    return bool(signs) and not any(sign.isalnum() for sign in signs)


def _patterns_under(mask, kind, found, typical):
    """Return where the patterns are under the mask of a layer, bool (head or 1, query or 1, key)."""
    shape = len(found.query_tokens), len(found.key_tokens)
    allowed = np.broadcast_to(mask.any(axis=0), shape)
    free = allowed.sum(axis=-1) > 1
    rows = np.flatnonzero(free if free.any() else allowed.any(axis=-1))
    where = _cross_cells(*shape) if kind == "cross" else _self_cells(found.query_tokens, allowed)
    where["first"] = np.arange(shape[1]) == 0
    where["punctuation"] = np.array([*map(is_punctuation, found.key_tokens)], bool)
    where |= typical
    names = measures_of(kind, [name.removeprefix(WORDS) for name in typical])
    cells = [np.broadcast_to(where[name], shape)[rows] & allowed[rows] for name in names[: -len(SHAPES)]]
    cells = np.stack(cells, axis=-1)
    able = cells.any(axis=1)
    able &= able.sum(axis=0) >= min(2, len(rows))
    return TextPatterns(names, cells.astype(np.float32), able, rows, allowed[rows])


def _shares(text, weights):
    """Return `share` and `even` of `KindRoles` for the heads of a layer: float (head, measure); NaN if no row
    could show the pattern.

    And bool (head,), whether some key gets at least twice its weight under uniform attention.
    """
    weights = np.asarray(weights, np.float64)[:, text.rows]
    if not len(text.rows):
        unknown = np.full((len(weights), len(text.names)), np.nan)
        return unknown, unknown, np.zeros(len(weights), bool)
    choices, uniform = text.choices, text.uniform
    both = (_on(each, text.cells) for each in (weights, uniform[None]))
    share, even = (np.einsum("rhp,rp->hp", each, text.able) for each in both)
    count = text.able.sum(axis=0)
    share, even = divided(share, count), np.broadcast_to(divided(even, count), share.shape)
    received, fair = weights.mean(axis=1), uniform.mean(axis=0)
    key = received.argmax(axis=-1)
    free = choices > 1
    relative = row_entropy(weights)[:, free] / np.log(choices[free])
    evenness = relative.mean(axis=-1) if free.any() else np.full(len(weights), np.nan)
    shapes = [np.take_along_axis(received, key[:, None], -1)[:, 0], weights.max(-1).mean(-1), evenness]
    plain = [fair[key], np.full(len(key), (1 / choices).mean()), np.ones(len(key))]
    share, even = (np.column_stack([s, *more]) for s, more in ((share, shapes), (even, plain)))
    if not text.has_choice:
        return share, np.zeros_like(even), np.zeros(len(key), bool)
    return share, even, (received >= 2 * np.where(fair > 0, fair, np.inf)).any(axis=-1)


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
