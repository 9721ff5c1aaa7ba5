"""Pattern shares of many texts, added up."""

from collections.abc import Collection, Sequence

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.head_roles import DIGITS
from transformer_viz.questions.roles.kind_roles import KindRoles
from transformer_viz.questions.roles.patterns import WORDS, measures_of, patterns_of_config, words_measures
from transformer_viz.questions.roles.text_patterns import PatternShares
from transformer_viz.questions.roles.text_roles import held_patterns
from transformer_viz.trace.interventions import all_heads


class PatternTotals:
    """Totals over texts of the pattern shares of all heads of one kind of attention.

    Args:
        kind: "encoder", "decoder" or "cross".
        possible: Patterns that each layer can have, as `patterns_of_config` returns them.
        heads: Heads of each layer.
        labels: Those with typical words, which every layer can read.

    Attributes:
        names: Names of the measures.
        is_possible: bool (layer, measure), which patterns each layer can have.
    """

    def __init__(
        self, kind: str, possible: Sequence[Collection[str]], heads: int, labels: Collection[str] = ()
    ):
        self.names = measures_of(kind, labels)
        self.possible = possible = [{*each, *words_measures(labels)} for each in possible]
        self._words = np.array([name.startswith(WORDS) for name in self.names])
        self.is_possible = np.array([[name in each for name in self.names] for each in possible])
        shape = len(possible), heads, len(self.names)
        self._sums = {name: np.zeros(shape) for name in ("share", "squares", "even", "held")}
        self._sums |= {name: np.zeros((*shape[:2], len(labels))) for name in ("ratio", "ratio_squares")}
        self._support = np.zeros(len(self.names))
        self._texts = np.zeros(len(self.names), int)

    def add(self, layers: Sequence[PatternShares]) -> None:
        """Add one text: the result of `pattern_shares` for each layer."""
        support = layers[0].support
        self._support += support
        self._texts += support > 0
        for number, (found, possible) in enumerate(zip(layers, self.possible, strict=True)):
            share = np.nan_to_num(found.share)
            ratio = np.nan_to_num(found.share[:, self._words] / found.even[:, self._words])
            for name, array in (
                ("share", share),
                ("squares", share**2),
                ("even", np.nan_to_num(found.even)),
                ("held", held_patterns(found, possible)),
                ("ratio", ratio),
                ("ratio_squares", ratio**2),
            ):
                self._sums[name][number] += array

    def result(self) -> KindRoles:
        """Return the averages over the texts so far, with three decimals, as they are stored."""
        known = self.is_possible[:, None] & (self._texts > 0)
        count = np.where(known, np.maximum(self._texts, 1), np.nan)
        *sums, ratios, ratio_squares = self._sums.values()
        share, squares, even, held = (array / count for array in sums)
        ratio, ratio_squares = (array / count[..., self._words] for array in (ratios, ratio_squares))
        support = self._support / np.maximum(self._texts, 1)
        return KindRoles(
            self.names,
            share.round(DIGITS),
            _spread(share, squares).round(DIGITS),
            even.round(DIGITS),
            held.round(DIGITS),
            support.round(DIGITS),
            self._texts.copy(),
            ratio.round(DIGITS),
            _spread(ratio, ratio_squares).round(DIGITS),
        )


def _spread(mean, squares):
    return np.sqrt(np.maximum(squares - mean**2, 0))


def pattern_totals(config: TransformerConfig, labels: Collection[str] = ()) -> dict[str, PatternTotals]:
    """Return kind of attention -> empty totals, for those of a model.

    Args:
        config: The config of the model.
        labels: Those with typical words.
    """
    possible: dict[str, list[frozenset[str]]] = {}
    for kind, layer, head in all_heads(config):
        if head == 0:
            possible.setdefault(kind, []).append(patterns_of_config(config, kind, layer))
    return {kind: PatternTotals(kind, each, config.num_heads, labels) for kind, each in possible.items()}
