"""Surveys of heads: what each head of a model does in each of many texts, and the request for one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from transformer_viz.language.short_repr import short_repr
from transformer_viz.questions.roles.head_roles import DIGITS, HeadRoles
from transformer_viz.questions.roles.kind_roles import FEWEST_TEXTS, UsualRole

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
