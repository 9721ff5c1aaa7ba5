"""The evidence about the heads of one kind of attention, and the usual role that it gives each."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from transformer_viz.values.patterns import MIN_TEXTS, holds, name_role

FEWEST_TEXTS = 100
"""Fewest texts from which the usual role of a head is stated."""


class UsualRole(NamedTuple):
    """What a head does in at least half of the texts that could show it.

    Attributes:
        name: One of `ROLES`; "mixed" if nothing is.
        share: Mean share of its weight; for "even" the relative entropy; NaN for "mixed".
        spread: Standard deviation of that share across texts.
        support: Mean share of rows that could show it.
        held: Number of texts in which the head does it.
        texts: Number of texts that could show it.
    """

    name: str
    share: float
    spread: float
    support: float
    held: int
    texts: int


@dataclass(frozen=True, eq=False)
class KindRoles:
    """The evidence about all heads of one kind of attention.

    Averages are over the texts that could show the pattern. Share, spread, even and held are NaN where no
    text could, and where the layer cannot have the pattern (see `possible_patterns`).

    Attributes:
        names: Names of the measures, as in `MEASURES`.
        share: float (layer, head, measure), mean share of weight, as `pattern_shares` measures it.
        spread: float (layer, head, measure), its standard deviation across texts.
        even: float (layer, head, measure), the same share under uniform attention over the unmasked keys.
        held: float (layer, head, measure), share of texts in which the head holds the role of that name,
            whichever other it holds too.
        support: float (measure,), mean share of rows that could show the pattern.
        texts: int (measure,), number of texts that could show it.
    """

    names: tuple[str, ...]
    share: np.ndarray
    spread: np.ndarray
    even: np.ndarray
    held: np.ndarray
    support: np.ndarray
    texts: np.ndarray

    def usual(self, layer: int, head: int) -> UsualRole:
        """Return the usual role of a head.

        It is named by the rule for one text (`name_role`), applied to the averages; and the head has to hold
        it in at least half of the texts that could show it.
        """
        held = holds(self.names, self.share[layer, head], self.even[layer, head])
        held &= self.held[layer, head] >= MIN_TEXTS
        name = name_role(self.names, self.share[layer, head], self.support, held)
        if name == "mixed":
            return UsualRole(name, np.nan, np.nan, 1.0, 0, int(self.texts.max()))
        number = self.names.index(name)
        share, spread, times = (each[layer, head, number] for each in (self.share, self.spread, self.held))
        texts = int(self.texts[number])
        return UsualRole(
            name, float(share), float(spread), float(self.support[number]), round(times * texts), texts
        )
