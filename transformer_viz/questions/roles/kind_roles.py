"""The evidence about the heads of one kind of attention, and the usual role that it gives each."""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from transformer_viz.language.short_repr import short_repr
from transformer_viz.questions.roles.patterns import (
    MIN_AVERAGING,
    MIN_RATIO,
    MIN_TEXTS,
    SHAPES,
    WORDS,
    holds,
    name_role,
)

FEWEST_TEXTS = 100
"""Fewest texts from which the usual role of a head is stated."""


class WordsRead(NamedTuple):
    """How much more than evenly a head reads the words typical of a label.

    Attributes:
        label: The label.
        ratio: Their weight divided by that under uniform attention, averaged over the texts with such words.
        spread: Standard deviation of that ratio across these texts.
        texts: Number of these texts.
    """

    label: str
    ratio: float
    spread: float
    texts: int


class UsualRole(NamedTuple):
    """What a head does in at least half of the texts that could show it.

    Attributes:
        name: One of `ROLES`; "mixed" if nothing is.
        share: Mean share of its weight, for "words" on those of the first label; for "even" the relative
            entropy; NaN for "mixed".
        spread: Standard deviation of that share across texts.
        support: Mean share of rows that could show it.
        held: Number of texts in which the head does it.
        texts: Number of texts that could show it.
        words: For "words", the labels whose words it reads more than evenly, the most first.
    """

    name: str
    share: float
    spread: float
    support: float
    held: int
    texts: int
    words: tuple[WordsRead, ...] = ()

    @property
    def measure(self) -> str:
        """Name of the measure that shows it; of "words", that of the first label."""
        return f"{WORDS}{self.words[0].label}" if self.words else self.name


@dataclass(frozen=True, eq=False)
class KindRoles:
    """The evidence about all heads of one kind of attention.

    Averages are over the texts that could show the pattern. Share, spread, even and held are NaN where no
    text could, and where the layer cannot have the pattern (see `possible_patterns`).

    Attributes:
        names: Names of the measures, as `measures_of` returns them.
        share: float (layer, head, measure), mean share of weight, as `pattern_shares` measures it.
        spread: float (layer, head, measure), its standard deviation across texts.
        even: float (layer, head, measure), the same share under uniform attention over the unmasked keys.
        held: float (layer, head, measure), share of texts in which the head holds the role of that name,
            whichever other it holds too; of words, share of texts in which it reads them `MIN_RATIO` times
            as much as evenly.
        support: float (measure,), mean share of rows that could show the pattern.
        texts: int (measure,), number of texts that could show it.
        ratio: float (layer, head, label), weight on the words typical of each label of `names`, divided by
            that under uniform attention, averaged over the texts with such words.
        ratio_spread: float (layer, head, label), standard deviation of that ratio across these texts.
    """

    names: tuple[str, ...]
    share: np.ndarray
    spread: np.ndarray
    even: np.ndarray
    held: np.ndarray
    support: np.ndarray
    texts: np.ndarray
    ratio: np.ndarray
    ratio_spread: np.ndarray

    def __repr__(self):
        return short_repr(self, ("names", "share", "texts"))

    def usual(self, layer: int, head: int) -> UsualRole:
        """Return the usual role of a head.

        It is named by the rule for one text (`name_role`), applied to the averages; and the head has to hold
        it in at least half of the texts that could show it. A head without a place that it attends to, unless
        that is no more exact than "nearby", may read the words typical of some labels more than evenly.
        """
        held = holds(self.names, self.share[layer, head], self.even[layer, head])
        held &= self.held[layer, head] >= MIN_TEXTS
        name = name_role(self.names, self.share[layer, head], self.support, held)
        words = self.words_read(layer, head) if name in ("nearby", *SHAPES, "mixed") else ()
        if words:
            name, number = "words", self.names.index(f"{WORDS}{words[0].label}")
        elif name == "mixed":
            return UsualRole(name, np.nan, np.nan, 1.0, 0, int(self.texts.max()))
        else:
            number = self.names.index(name)
        share, spread, times = (each[layer, head, number] for each in (self.share, self.spread, self.held))
        texts = int(self.texts[number])
        support = float(self.support[number])
        return UsualRole(name, float(share), float(spread), support, round(times * texts), texts, words)

    @functools.cached_property
    def roles(self) -> list[list[UsualRole]]:
        """The usual role of each head, by layer."""
        layers, heads = self.share.shape[:2]
        return [[self.usual(layer, head) for head in range(heads)] for layer in range(layers)]

    def strength(self, layer: int, head: int) -> float:
        """Return the strength of the evidence for a head's usual role, up to 1; 0 for "even" and "mixed".

        It is the weight on the pattern beyond that under uniform attention, over all rows, times the share of
        texts in which the head has that role.
        """
        role = self.roles[layer][head]
        if role.name in ("even", "mixed"):
            return 0.0
        even = float(self.even[layer, head, self.names.index(role.measure)])
        return (role.share - even) * role.support * role.held / role.texts

    def averaging(self) -> list[tuple[int, int]]:
        """Return layer and head, 0-based, of each head with a mean relative entropy of `MIN_AVERAGING`."""
        evenness = self.share[..., self.names.index("even")]
        return [(int(layer), int(head)) for layer, head in np.argwhere(evenness >= MIN_AVERAGING)]

    def opening(self) -> tuple[int, int]:
        """Return layer and head, 0-based, with the strongest evidence for a usual role: it is shown first."""
        layers, heads = self.share.shape[:2]
        places = [(layer, head) for layer in range(layers) for head in range(heads)]
        return max(places, key=lambda place: self.strength(*place))

    def words_read(self, layer: int, head: int) -> tuple[WordsRead, ...]:
        """Return the labels whose typical words a head reads more than evenly, the most first.

        At least `FEWEST_TEXTS` texts must have such words; the head reads them `MIN_RATIO` times as much as
        evenly on average, and in at least half of these texts.
        """
        measures = [number for number, name in enumerate(self.names) if name.startswith(WORDS)]
        found = [
            WordsRead(
                self.names[number].removeprefix(WORDS),
                float(self.ratio[layer, head, label]),
                float(self.ratio_spread[layer, head, label]),
                int(self.texts[number]),
            )
            for label, number in enumerate(measures)
            if self.texts[number] >= FEWEST_TEXTS
            and self.held[layer, head, number] >= MIN_TEXTS
            and self.ratio[layer, head, label] >= MIN_RATIO
        ]
        return tuple(sorted(found, key=lambda read: -read.ratio))
