"""Roles of heads: the pattern that receives most of a head's attention."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.analysis.heads import entropy

MIN_SHARE = 0.35
"""Least share of a head's attention on a pattern for that role."""

MIN_RATIO = 1.5
"""Least ratio of that share to the share under uniform attention."""

MIN_EVENNESS = 0.75
"""Least effective number of keys of the role "even", as a share of the unmasked keys."""

ROLES = (
    *("itself", "previous", "next", "same", "after_same"),
    *("diagonal", "antidiagonal", "token", "even", "mixed"),
)
"""All roles."""


class Role(NamedTuple):
    """The role of a head.

    Attributes:
        name: "itself", "previous", "next", "same" (other occurrences of the token), "after_same" (the token
            after an earlier occurrence: induction), "diagonal", "antidiagonal", "token" (one token, for all
            queries), "even", or "mixed".
        share: Share of the attention on the pattern, 0 to 1, averaged over rows that contain it; for "even"
            and "mixed" the effective number of keys: exp of the mean entropy.
        key: Index of the key with the most attention, for "token" and "mixed".
    """

    name: str
    share: float
    key: int


def roles(
    weights: ArrayLike,
    mask: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    cross: bool = False,
) -> list[Role]:
    """Return the role of each head of a layer.

    Rows with fewer than two unmasked keys are left out if there are others. If everything is masked, every
    head is "mixed" over 0 keys.

    Args:
        weights: float (head, query, key), rows summing to 1 or 0.
        mask: bool (head or 1, query, key), True = may attend.
        query_tokens: Texts of the rows.
        key_tokens: Texts of the columns.
        cross: Whether this is cross-attention.
    """
    weights = np.asarray(weights, dtype=np.float64)
    allowed = np.asarray(np.broadcast_to(mask, weights.shape).any(axis=0))
    if not allowed.any():
        return [Role("mixed", 0.0, 0)] * len(weights)
    free = allowed.sum(axis=-1) > 1
    rows = free if free.any() else allowed.any(axis=-1)
    where = _cross_patterns(allowed) if cross else _self_patterns(query_tokens)
    above_even = MIN_RATIO if free.any() else 0
    evenly = allowed / np.maximum(allowed.sum(axis=-1, keepdims=True), 1)
    shares = {}
    for name, cells in where.items():
        share, least = (_share(each, cells & allowed, rows) for each in (weights, evenly[None]))
        shares[name] = np.where(share >= above_even * least, share, 0)
    keys = weights[:, rows].mean(axis=1)
    widths = np.exp(np.nan_to_num(entropy(weights[:, rows])))
    choices = allowed[rows].sum(axis=-1).mean()
    found = []
    for head, mean in enumerate(keys):
        key = int(mean.argmax())
        named = ((name, share[head]) for name, share in shares.items())
        name, share = max(named, key=lambda pair: pair[1], default=("mixed", 0.0))
        if share < MIN_SHARE:
            enough = max(MIN_SHARE, above_even * evenly[rows].mean(axis=0)[key])
            name, share = ("token", mean[key]) if mean[key] >= enough else ("mixed", widths[head])
        if name == "mixed" and widths[head] >= MIN_EVENNESS * choices:
            name = "even"
        found.append(Role(name, float(share), key))
    return found


def _self_patterns(tokens):
    """Return role -> its cells in self-attention: bool (query, key)."""
    count = len(tokens)
    texts = np.array([*map(str.lower, tokens)], dtype=object)
    same = texts[:, None] == texts[None, :]
    before = np.tril(same, -1)
    after_same = np.zeros_like(same)
    after_same[:, 1:] = before[:, :-1]
    return {
        "itself": np.eye(count, dtype=bool),
        "previous": np.eye(count, k=-1, dtype=bool),
        "next": np.eye(count, k=1, dtype=bool),
        "same": same & ~np.eye(count, dtype=bool),
        "after_same": after_same,
    }


def _cross_patterns(allowed):
    """Return the same for cross-attention: cells next to the diagonals."""
    queries, keys = allowed.shape
    if min(queries, keys) < 3:
        return {}
    places = np.linspace(0, keys - 1, queries)[:, None]
    distance = np.abs(np.arange(keys)[None, :] - places)
    return {"diagonal": distance <= 1, "antidiagonal": distance[:, ::-1] <= 1}


def _share(weights, cells, rows):
    """Return the mean weight of each head on some cells, over rows that contain them; 0 without such rows."""
    able = rows & cells.any(axis=-1)
    if able.sum() < min(2, rows.sum()):
        return np.zeros(len(weights))
    return (weights * cells).sum(axis=-1)[:, able].mean(axis=-1)
