"""Surveys of heads: what each head of a model does in each of many texts, and on average."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import Attentions
from transformer_viz.questions.roles.patterns import (
    PatternShares,
    held_patterns,
    pattern_shares,
    patterns_by_layer,
)
from transformer_viz.questions.roles.result import (
    DIGITS,
    FEWEST_TEXTS,
    HeadRoles,
    KindRoles,
    Typical,
    UsualRole,
)
from transformer_viz.questions.roles.rules import WORDS, measures_of, patterns_of_config, words_measures
from transformer_viz.questions.roles.scores import row_entropy
from transformer_viz.trace.interventions import all_heads

MAX_SURVEY_TEXTS = 1_000
"""Most texts of a survey in the app."""

FAR = 2**31 - 1
"""A distance that no text reaches."""

DISTANCES = (
    *((-FAR, -17), (-16, -9), (-8, -5), (-4, -3), (-2, -2), (-1, -1), (0, 0)),
    *((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, FAR)),
)
"""First and last distance of each bin, key minus query in tokens: below 0 the key comes earlier."""

ENTROPY_BINS = 10
"""Bins of equal width over the relative entropy, 0 to 1."""

TEXTS_SHOWN = 8
"""Texts that a sheet shows."""

Text = str | tuple[str, str | tuple[int, ...]]
"""A text; for an encoder-decoder perhaps with its target, as text or token ids."""


def length_order(texts: Sequence[Text]) -> list[int]:
    """Return the indices of texts from the longest to the shortest, in characters."""
    lengths = [len(text if isinstance(text, str) else text[0]) for text in texts]
    return sorted(range(len(texts)), key=lambda number: -lengths[number])


@dataclass(frozen=True)
class SurveyRequest:
    """A request for a survey of a model's heads over many texts.

    Attributes:
        model: Name or folder of the model.
        texts: At most `MAX_SURVEY_TEXTS` texts; for an encoder-decoder (text, target) pairs, or texts for
            which it generates the target.

    Raises:
        ValueError: If there are more.
    """

    model: str
    texts: tuple[Text, ...]

    def __post_init__(self):
        if len(self.texts) > MAX_SURVEY_TEXTS:
            raise ValueError(
                f"A survey has at most {MAX_SURVEY_TEXTS:,} texts; leave some out. "
                f"Received: {len(self.texts):,}."
            )

    def __repr__(self):
        return short_repr(self)


@dataclass(frozen=True, eq=False)
class HeadSurvey:
    """What each head of a model does in each of many texts.

    A text in which no query can choose between two keys counts nowhere. Queries with a single unmasked key
    are left out of both histograms, and those of cross-attention have no distance: its queries and keys are
    tokens of different texts.

    Attributes:
        roles: The averages over the texts, as `head_roles` returns them.
        texts: The texts, in the order in which they were given.
        cut: bool (text,), whether the model reads only a part of it.
        shares: Kind of attention -> float32 (text, layer, head, measure), the weight on each measure of the
            roles, as `pattern_shares` measures it; NaN where the text has no such place, or the layer
            cannot have the pattern.
        distances: Kind of self-attention -> float32 (layer, head, bin), share of the weight of all queries at
            each of the `DISTANCES`.
        even_distances: Kind of self-attention -> float32 (bin,), the same under uniform attention over the
            unmasked keys.
        entropies: Kind of attention -> float32 (layer, head, bin), share of all queries whose entropy,
            relative to uniform attention, falls into each of `ENTROPY_BINS`.
    """

    roles: HeadRoles
    texts: tuple[Text, ...]
    cut: np.ndarray
    shares: Mapping[str, np.ndarray]
    distances: Mapping[str, np.ndarray]
    even_distances: Mapping[str, np.ndarray]
    entropies: Mapping[str, np.ndarray]

    def __repr__(self):
        return short_repr(self, ("roles", "texts", "shares"))

    def usual(self, kind: str, layer: int, head: int) -> UsualRole | None:
        """Return the usual role of a head; None if fewer than `FEWEST_TEXTS` texts could show it."""
        role = self.roles.kinds[kind].usual(layer, head)
        return role if role.texts >= FEWEST_TEXTS else None

    def top_texts(
        self, kind: str, layer: int, head: int, measure: str, count: int = TEXTS_SHOWN
    ) -> list[int]:
        """Return the indices of the texts in which a head gives a pattern the most weight, the most first.

        Equal ones keep their order; texts that cannot show the pattern are left out.
        """
        shares = self.shares_of(kind, layer, head, measure)
        order = np.argsort(-shares, kind="stable")
        return [int(text) for text in order if not np.isnan(shares[text])][:count]

    def random_texts(self, count: int = TEXTS_SHOWN, seed: int = 0) -> list[int]:
        """Return the indices of random texts, in order; those that count nowhere are left out."""
        known = [~np.isnan(shares).all(axis=(1, 2, 3)) for shares in self.shares.values()]
        usable = np.flatnonzero(np.any(known, axis=0))
        chosen = np.random.default_rng(seed).choice(usable, min(count, len(usable)), replace=False)
        return sorted(map(int, chosen))

    def shares_of(self, kind: str, layer: int, head: int, measure: str) -> np.ndarray:
        """Return the weight of a head on a pattern in each text: float32 (text,), a view."""
        return self.shares[kind][:, layer, head, self.roles.kinds[kind].names.index(measure)]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per text and head.

        Returns:
            Columns text (its index), kind, layer, head (0-based), and one for each measure; NaN where the
            text has no such place.
        """
        frames = []
        for kind, shares in self.shares.items():
            text, layer, head = (axis.ravel() for axis in np.indices(shares.shape[:3]))
            columns = {"text": text, "kind": kind, "layer": layer, "head": head}
            flat = shares.reshape(-1, shares.shape[-1])
            columns |= {name: flat[:, number] for number, name in enumerate(self.roles.kinds[kind].names)}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def to_json(self) -> str:
        """Return roles and histograms as JSON: `roles` as `HeadRoles.to_json`, the bins, and shares."""
        histograms = {
            name: {kind: _rounded(array) for kind, array in getattr(self, name).items()}
            for name in ("distances", "even_distances", "entropies")
        }
        bins = {"distance_bins": [_open_ended(edges) for edges in DISTANCES], "entropy_bins": ENTROPY_BINS}
        return json.dumps({"roles": json.loads(self.roles.to_json())} | bins | histograms) + "\n"


def _rounded(array):
    """Return nested lists of rounded numbers, None for NaN."""
    if array.ndim:
        return [_rounded(each) for each in array]
    return None if np.isnan(array) else round(float(array), DIGITS)


def _open_ended(edges):
    return [None if abs(edge) == FAR else edge for edge in edges]


def distance_histogram(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the weight at each of `DISTANCES`, key minus query in tokens, summed over rows.

    Args:
        weights: float (head, row, key) of self-attention.
        rows: int (row,), indices of the rows among the queries.

    Returns:
        float64 (head, bin).
    """
    keys = weights.shape[-1]
    until = np.zeros((*weights.shape[:-1], keys + 1))
    np.cumsum(weights, axis=-1, out=until[..., 1:])
    edges = np.array([first for first, _ in DISTANCES] + [DISTANCES[-1][1]], np.int64)
    ends = np.clip(rows[:, None] + edges, 0, keys)
    return np.diff(np.take_along_axis(until, ends[None], axis=-1), axis=-1).sum(axis=1)


def entropy_histogram(weights: np.ndarray, choices: np.ndarray) -> np.ndarray:
    """Return in how many rows the entropy, relative to uniform attention, falls into each bin.

    Args:
        weights: float (head, row, key), rows summing to 1.
        choices: int (row,), unmasked keys of each row; rows with fewer than two are left out.

    Returns:
        int (head, bin): `ENTROPY_BINS` of equal width from 0 to 1, which the last one includes.
    """
    free = choices > 1
    relative = row_entropy(weights[:, free]) / np.log(choices[free])
    bins = np.clip((relative * ENTROPY_BINS).astype(int), 0, ENTROPY_BINS - 1)
    return (bins[..., None] == np.arange(ENTROPY_BINS)).sum(axis=1)


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
