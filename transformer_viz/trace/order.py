"""Permutations of the tokens of a text."""

from collections.abc import Sequence

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.text.special import EDGES, PAD

Order = str | Sequence[int] | None
"""The change `order`: a permutation or its name; None: as typed."""

STAYS = EDGES | {PAD}
"""Tokens that keep their place at the beginning and at the end of a text."""


def named_order(name: str, tokens: Sequence[str]) -> tuple[int, ...]:
    """Return a permutation of tokens by its name; special tokens at both ends keep their place.

    Args:
        name: "reversed"; or "shuffled", at random: "shuffled:7" with another seed than 0.
        tokens: The tokens of a text.

    Returns:
        The tokens' indices in the new order.

    Raises:
        ValueError: If there is no such order.

    >>> named_order("reversed", ["[START]", "so", "good", "!", "[END]"])
    (0, 3, 2, 1, 4)
    """
    what, _, seed = name.partition(":")
    if what not in ("reversed", "shuffled") or not (seed or "0").isdecimal() or (seed and what == "reversed"):
        raise Problem("changes.order", received=repr(name))
    moving = [place for place, token in enumerate(tokens) if token not in STAYS]
    first, last = (moving[0], moving[-1] + 1) if moving else (0, 0)
    count = last - first
    inner = range(count)[::-1] if what == "reversed" else shuffled_order(count, int(seed or 0))
    return (*range(first), *(first + place for place in inner), *range(last, len(tokens)))


def permutation_of(order: Order, tokens: Sequence[str]) -> tuple[int, ...]:
    """Return the change `order` of a text as a permutation of its tokens, in either order."""
    if order is None:
        return tuple(range(len(tokens)))
    if isinstance(order, str):
        return named_order(order, tokens)
    return (*order, *range(len(order), len(tokens)))  # the padding


def shuffled_order(length: int, seed: int, *, fixed: int = 0) -> tuple[int, ...]:
    """Return a random permutation of the tokens.

    Args:
        length: Number of tokens.
        seed: Random seed, at least 0.
        fixed: Number of tokens at the beginning that stay in place, such as [START].

    Returns:
        The tokens' indices in the new order; not the identity, unless fewer than two tokens can move.
    """
    order = np.arange(length)
    if length - fixed < 2:
        return tuple(order.tolist())
    random = np.random.default_rng(seed)
    while (order == np.arange(length)).all():
        order[fixed:] = fixed + random.permutation(length - fixed)
    return tuple(order.tolist())
