"""Surveys of heads: one text measured, and many texts put together."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import Attentions
from transformer_viz.questions.roles.head_roles import HeadRoles, Typical
from transformer_viz.questions.roles.head_survey import DISTANCES, ENTROPY_BINS, HeadSurvey, Text
from transformer_viz.questions.roles.heads import distance_histogram, entropy_histogram
from transformer_viz.questions.roles.pattern_totals import pattern_totals
from transformer_viz.questions.roles.text_patterns import PatternShares, pattern_shares, patterns_by_layer


class NoChoiceError(Problem):
    """In none of the texts can a token choose between two keys."""


class MeasuredHeads(NamedTuple):
    """What the heads of one kind of attention do in one text.

    Attributes:
        layers: Shares of the patterns, one for each layer.
        distances: float64 (layer, head, bin), weight at each of `DISTANCES`, summed over queries; None for
            cross-attention.
        even_distances: float64 (bin,), the same under uniform attention, the mean of the layers' masks.
        entropies: int (layer, head, bin), queries in each of `ENTROPY_BINS`.
    """

    layers: list[PatternShares]
    distances: np.ndarray | None
    even_distances: np.ndarray | None
    entropies: np.ndarray


class MeasuredText(NamedTuple):
    """One text of a survey.

    Attributes:
        kinds: Kind of attention -> its heads; only kinds in which some query can choose between two keys.
        tokens: Number of tokens of the text that the model reads; of an encoder-decoder, of the source.
        cut: Whether the model reads only a part of the text.
    """

    kinds: dict[str, MeasuredHeads]
    tokens: int
    cut: bool = False


def measure_heads(
    kind: str, found: Attentions, typical: Mapping[str, np.ndarray] | None = None
) -> MeasuredHeads | None:
    """Return what the heads of one kind of attention do in one text; None if no query has a choice.

    Args:
        kind: "encoder", "decoder" or "cross".
        found: Its attention.
        typical: Keys in words typical of each label, as `typical_keys` returns them; None: not measured.
    """
    tokens = found.query_tokens, found.key_tokens
    count = len(found.layers)
    texts = patterns_by_layer(found.mask, count, *tokens, cross=kind == "cross", typical=typical)
    if not all(text.has_choice for text in texts):
        return None
    both = [*zip(texts, found.layers, strict=True)]
    layers = [pattern_shares(text, layer.weights) for text, layer in both]
    rows = [np.asarray(layer.weights)[:, text.rows].astype(np.float64) for text, layer in both]
    choices = [text.allowed.sum(axis=-1) for text in texts]
    entropies = np.stack([entropy_histogram(*each) for each in zip(rows, choices, strict=True)])
    if kind == "cross":
        return MeasuredHeads(layers, None, None, entropies)
    distances = np.stack(
        [distance_histogram(each, text.rows) for text, each in zip(texts, rows, strict=True)]
    )
    evenly = [
        distance_histogram((text.allowed / text.allowed.sum(axis=-1)[:, None])[None], text.rows)[0]
        for text in texts[: len(found.mask)]
    ]
    return MeasuredHeads(layers, distances, np.mean(evenly, axis=0), entropies)


class SurveyTotals:
    """The measurements of many texts, put together in any order.

    Args:
        config: Config of the model.
        texts: The texts.
        words: The words typical of each label.
    """

    def __init__(self, config: TransformerConfig, texts: Sequence[Text], words: Typical):
        self.texts = tuple(texts)
        self._words = words
        self.cut = np.zeros(len(texts), bool)
        self._tokens: list[int] = []
        self._patterns = pattern_totals(config, words)
        self._shares, self._histograms = {}, {}
        for kind, totals in self._patterns.items():
            heads = len(totals.possible), config.num_heads
            self._shares[kind] = np.full((len(texts), *heads, len(totals.names)), np.nan, np.float32)
            bins = {"entropies": np.zeros((*heads, ENTROPY_BINS))}
            if kind != "cross":
                bins |= {"distances": np.zeros((*heads, len(DISTANCES)))}
                bins |= {"even_distances": np.zeros(len(DISTANCES))}
            self._histograms[kind] = bins

    def add(self, number: int, found: MeasuredText) -> None:
        """Add the text of this index."""
        self.cut[number] = found.cut
        if found.kinds:
            self._tokens.append(found.tokens)
        for kind, heads in found.kinds.items():
            totals = self._patterns[kind]
            totals.add(heads.layers)
            can = totals.is_possible[:, None]
            shares = np.stack([layer.share for layer in heads.layers])
            self._shares[kind][number] = np.where(can, shares, np.nan)
            for name in self._histograms[kind]:
                self._histograms[kind][name] += getattr(heads, name)

    def result(self) -> HeadSurvey:
        """Return the survey.

        Raises:
            NoChoiceError: If no text counts. It is a `ValueError`.
        """
        roles = roles_of_totals(self._patterns, self._tokens, self._words)
        histograms: dict[str, dict[str, np.ndarray]] = {}
        for kind, bins in self._histograms.items():
            for name, total in bins.items():
                histograms.setdefault(name, {})[kind] = _normalised(total)
        return HeadSurvey(roles, self.texts, self.cut, self._shares, **histograms)


def roles_of_totals(patterns: Mapping, tokens: Sequence[int], words: Typical) -> HeadRoles:
    """Return the roles of heads over texts of so many tokens each; `words` are those typical of each label.

    Raises:
        NoChoiceError: If there is no text.
    """
    if not tokens:
        raise NoChoiceError("head_roles.no_texts")
    kinds = {kind: each.result() for kind, each in patterns.items()}
    return HeadRoles(len(tokens), kinds, words, round(float(np.median(tokens))))


def _normalised(total):
    """Return a histogram with the sum 1 over its bins; NaN if nothing was counted."""
    whole = total.sum(axis=-1, keepdims=True)
    shares = np.divide(total, whole, out=np.full(total.shape, np.nan), where=whole > 0)
    return shares.astype(np.float32)
