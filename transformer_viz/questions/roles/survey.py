"""Surveys of heads: what each head of a model does in each of many texts, and on average."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import Attentions
from transformer_viz.questions.roles.patterns import TextPatterns
from transformer_viz.questions.roles.result import DIGITS, HeadRoles, KindRoles, Role, Typical, rounded
from transformer_viz.questions.roles.rules import (
    FEWEST_TEXTS,
    WORDS,
    are_possible,
    measures_of,
    patterns_of_config,
)
from transformer_viz.questions.roles.scores import divided, row_entropy

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

AVERAGED = ("share", "even", "held", "ratio")
"""Numbers of `KindRoles` that are averaged over texts."""

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
            roles, as in `KindRoles`; NaN where the text has no such place, or the layer cannot have the
            pattern.
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

    def usual(self, kind: str, layer: int, head: int) -> Role | None:
        """Return the usual role of a head; None if fewer than `FEWEST_TEXTS` texts could show it."""
        role = self.roles.kinds[kind].roles[layer][head]
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
            name: {kind: rounded(array) for kind, array in getattr(self, name).items()}
            for name in ("distances", "even_distances", "entropies")
        }
        bins = {"distance_bins": [_open_ended(edges) for edges in DISTANCES], "entropy_bins": ENTROPY_BINS}
        return json.dumps({"roles": json.loads(self.roles.to_json())} | bins | histograms) + "\n"


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


class NoChoiceError(Problem):
    """In none of the texts can a token choose between two keys."""


class MeasuredText(NamedTuple):
    """One text of a survey.

    Attributes:
        roles: Kind of attention -> what its heads do; only kinds in which some query can choose between two
            keys.
        histograms: Kind of attention -> the result of `text_histograms`; the same kinds.
        tokens: Number of tokens of the text that the model reads; of an encoder-decoder, of the source.
        cut: Whether the model reads only a part of the text.
    """

    roles: dict[str, KindRoles]
    histograms: dict[str, dict[str, np.ndarray]]
    tokens: int
    cut: bool = False


def text_histograms(kind: str, patterns: Sequence[TextPatterns], found: Attentions) -> dict[str, np.ndarray]:
    """Return the histograms of the heads in one text, by their names in `HeadSurvey`, not normalised.

    Distances are weights summed over queries, under uniform attention the mean of the layers' masks;
    entropies are numbers of queries.

    Args:
        kind: "encoder", "decoder" or "cross", which has no distances.
        patterns: Where the patterns are in each layer, as `text_patterns` returns them.
        found: The attention.
    """
    layers = [
        (text, np.asarray(layer.weights)[:, text.rows].astype(np.float64))
        for text, layer in zip(patterns, found.layers, strict=True)
    ]
    entropies = np.stack([entropy_histogram(weights, text.choices) for text, weights in layers])
    if kind == "cross":
        return {"entropies": entropies}
    distances = np.stack([distance_histogram(weights, text.rows) for text, weights in layers])
    masks = patterns[: len(found.mask)]
    even = np.mean([distance_histogram(text.uniform[None], text.rows)[0] for text in masks], axis=0)
    return {"entropies": entropies, "distances": distances, "even_distances": even}


class KindTotals:
    """Totals over texts of what the heads of one kind of attention do.

    Args:
        kind: "encoder", "decoder" or "cross".
        possible: Patterns that each layer can have, as `patterns_of_config` returns them.
        heads: Heads of each layer.
        labels: Those with typical words.

    Attributes:
        names: Names of the measures.
        possible: bool (layer, head, measure), which patterns each layer can have.
    """

    def __init__(
        self, kind: str, possible: Sequence[Collection[str]], heads: int, labels: Collection[str] = ()
    ):
        self.names = measures_of(kind, labels)
        self.possible = are_possible(self.names, possible)[:, None].repeat(heads, axis=1)
        self._texts = np.zeros(len(self.names), int)
        self._sums: dict[Any, Any] = defaultdict(float)

    def add(self, found: KindRoles) -> None:
        """Add one text."""
        self._texts += found.texts
        self._sums["support"] += found.support[0]
        for name in AVERAGED:
            numbers = np.nan_to_num(getattr(found, name))
            self._sums[name] += numbers
            self._sums[name, "squares"] += numbers**2

    def result(self) -> KindRoles:
        """Return the averages over the texts so far, with three decimals, as they are stored."""
        count = np.where(self.possible & (self._texts > 0), self._texts, np.nan)
        counts: dict[str, np.ndarray] = dict.fromkeys(AVERAGED, count)
        counts["ratio"] = count[..., [name.startswith(WORDS) for name in self.names]]
        numbers = {name: self._sums[name] / counts[name] for name in AVERAGED}
        for name, spread in (("share", "spread"), ("ratio", "ratio_spread")):
            variance = self._sums[name, "squares"] / counts[name] - numbers[name] ** 2
            numbers[spread] = np.sqrt(np.maximum(variance, 0))
        numbers["support"] = self._sums["support"] / np.maximum(self._texts, 1)
        kept = {name: each.round(DIGITS) for name, each in numbers.items()}
        return KindRoles(names=self.names, texts=self._texts.copy(), **kept)


class SurveyTotals:
    """The measurements of many texts, put together in any order.

    Args:
        config: Config of the model.
        texts: The texts.
        words: The words typical of each label.
    """

    def __init__(self, config: TransformerConfig, texts: Sequence[Text], words: Typical):
        self._texts, self._words = tuple(texts), words
        self._cut, self._tokens = np.zeros(len(texts), bool), []
        self._roles: dict[str, KindTotals] = {}
        self._shares: dict[str, np.ndarray] = {}
        self._histograms: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
        for kind, possible in patterns_of_config(config).items():
            self._roles[kind] = totals = KindTotals(kind, possible, config.num_heads, words)
            *heads, measures = totals.possible.shape
            self._shares[kind] = np.full((len(texts), *heads, measures), np.nan, np.float32)
            sizes = {"entropies": (*heads, ENTROPY_BINS)}
            if kind != "cross":
                sizes |= {"distances": (*heads, len(DISTANCES)), "even_distances": (len(DISTANCES),)}
            for name, size in sizes.items():
                self._histograms[name][kind] = np.zeros(size)

    def add(self, number: int, found: MeasuredText) -> None:
        """Add the text of this index."""
        self._cut[number] = found.cut
        if found.roles:
            self._tokens.append(found.tokens)
        for kind, roles in found.roles.items():
            self._roles[kind].add(roles)
            self._shares[kind][number] = np.where(self._roles[kind].possible, roles.share, np.nan)
            for name, counted in found.histograms[kind].items():
                self._histograms[name][kind] += counted

    def result(self) -> HeadSurvey:
        """Return the survey.

        Raises:
            NoChoiceError: If no text counts. It is a `ValueError`.
        """
        if not self._tokens:
            raise NoChoiceError("head_roles.no_texts")
        kinds = {kind: each.result() for kind, each in self._roles.items()}
        roles = HeadRoles(len(self._tokens), kinds, self._words, round(float(np.median(self._tokens))))
        histograms = {
            name: {kind: _normalised(total) for kind, total in each.items()}
            for name, each in self._histograms.items()
        }
        return HeadSurvey(roles, self._texts, self._cut, self._shares, **histograms)


def _normalised(total):
    """Return a histogram with the sum 1 over its bins; NaN if nothing was counted."""
    return divided(total, total.sum(axis=-1, keepdims=True)).astype(np.float32)
