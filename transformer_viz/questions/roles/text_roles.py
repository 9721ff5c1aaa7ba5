"""Roles of heads in one text: the pattern that receives most of a head's attention."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.questions.roles.patterns import ROLES, holds, name_role
from transformer_viz.questions.roles.text_patterns import PatternShares, pattern_shares, text_patterns


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
