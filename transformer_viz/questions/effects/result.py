"""Effects of attention weights, heads and words on a model's answer: plain values, without Keras.

An effect is positive where it speaks for the answer: taken away, the answer loses so much.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.words import Word
from transformer_viz.trace.interventions import all_heads, by_kind
from transformer_viz.trace.zips import read_arrays

WORD_COLUMNS = ("word", "start", "end", "value", "by", "side")
"""Columns of `Effects.words`."""

SATURATED = 6.0
"""Log-odds from which on an answer is so certain that estimates are too small, and heads are measured."""

LEFT_OUT = "left out"
"""How the value of a word was found."""

ABLATED = "ablated-"
"""Prefix of the arrays of measured heads in a file."""

Head = tuple[Any, ...]
"""(layer, head), or (kind, layer, head), as in `Changes.ablate`."""


@dataclass(frozen=True, eq=False)
class HeadEffects(Mapping[str, np.ndarray]):
    """The effect of ablating each head, and all of them together; as a mapping, kind -> `probability[kind]`.

    Kinds are "encoder", "decoder" and "cross", for those of the model. A drop is the value with all heads
    minus that without; negative: the answer is more probable without.

    Attributes:
        answer: Certainty of the answer with all heads.
        probability: Kind -> float32 (layer, head) in [-1, 1], the drop in probability.
        log_odds: Kind -> float32 (layer, head), the drop in log-odds.
        together: Drops with all heads ablated in one run.
    """

    answer: Certainty
    probability: dict[str, np.ndarray]
    log_odds: dict[str, np.ndarray]
    together: Certainty

    def __repr__(self):
        return short_repr(self, ("answer", "probability", "together"))

    @classmethod
    def of(cls, config: TransformerConfig, found: Iterable[Certainty]) -> Self:
        """Return the effects from the certainty with each of `ablations(config)`."""
        answer, *without, last = found
        drops = [*zip(all_heads(config), map(answer.minus, without), strict=True)]
        return cls(
            answer,
            by_kind((head, drop.probability) for head, drop in drops),
            by_kind((head, drop.log_odds) for head, drop in drops),
            answer.minus(last),
        )

    def __getitem__(self, kind: str) -> np.ndarray:
        return self.probability[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self.probability)

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def num_heads(self) -> int:
        """Number of heads of the model."""
        return sum(part.size for part in self.probability.values())

    @property
    def alone(self) -> Certainty:
        """Sums of the drops without one head each."""
        sides = (self.probability, self.log_odds)
        return Certainty(
            *(sum(float(part.sum(dtype=np.float64)) for part in side.values()) for side in sides)
        )

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(part.nbytes for part in (*self.probability.values(), *self.log_odds.values()))


class JointEffect(NamedTuple):
    """The effect of ablating several heads together.

    Attributes:
        together: Drops with all of them ablated in one run.
        alone: Sums of the drops with each of them ablated in a run of its own.
    """

    together: Certainty
    alone: Certainty


def ablations(config: TransformerConfig) -> list[tuple[Head, ...]]:
    """Return the groups of heads to ablate for `HeadEffects`: none, each head, all."""
    heads = all_heads(config)
    return [(), *((head,) for head in heads), tuple(heads)]


@dataclass(frozen=True, eq=False)
class Effects:
    """What each attention weight, head and word does to an answer.

    Attributes:
        answer: The rows and columns of the logits that answer.
        labels: Name of each label in `answer`.
        versus: Name of the label it is compared with; "": all others.
        certainty: How certain the model is of it: its probability, and f.
        cells: Kind ("encoder", "decoder", "cross", for those of the model) -> float32 (layer, head, query,
            key): weight × ∂f/∂weight, an estimate of what f loses if this weight alone becomes 0 after the
            softmax (attention × gradient, Barkan et al., 2021; attribution patching, Nanda, 2023).
        stand_in: Token that stands for a word left out; "": words are deleted.
        tokens: Kind -> query tokens and key tokens.
        words: A row for each word of the text, and of the target of an encoder-decoder, in order: word, start
            and end (in characters of that text), value (what f loses without it; NaN: not measured), by
            ("left out": measured with a stand-in in its place), side ("text" or "target").
        ablated: Kind -> float32 (layer, head), what f loses with each head ablated; None: not measured.
    """

    answer: Answer
    labels: tuple[str, ...]
    versus: str
    certainty: Certainty
    cells: dict[str, np.ndarray]
    stand_in: str
    tokens: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    words: pd.DataFrame
    ablated: dict[str, np.ndarray] | None = None

    def __repr__(self):
        return short_repr(self, ("labels", "versus", "certainty", "cells"))

    def measured(self, words: Sequence[Word], without: Mapping[Word, float]) -> Self:
        """Return these effects with those of words.

        Args:
            words: The words, in order.
            without: Word -> f without it; NaN or missing: not measured.
        """
        f = self.certainty.log_odds
        rows = [
            (word.text, word.start, word.end, f - without.get(word, math.nan), LEFT_OUT, word.side)
            for word in words
        ]
        return replace(self, words=pd.DataFrame(rows, columns=pd.Index(WORD_COLUMNS)))

    @property
    def heads(self) -> dict[str, np.ndarray]:
        """Kind -> float32 (layer, head), the sum of its cells: an estimate of what f loses without it."""
        return {kind: cells.sum(axis=(2, 3)) for kind, cells in self.cells.items()}

    def of(self, kind: str, place: tuple[int, ...]) -> float:
        """Return the estimate of one head, or of one cell.

        Args:
            kind: Kind of its attention.
            place: Layer and head, of a cell also query and key, 0-based.
        """
        return float(self.cells[kind][place].sum())

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(cells.nbytes for cells in self.cells.values())

    def beside(self, weights: pd.DataFrame) -> pd.DataFrame:
        """Return a table of attention weights with a column "effect".

        Args:
            weights: As `Trace.to_frame` returns it, of the same text.
        """
        column = pd.Series(math.nan, weights.index)
        for kind, cells in self.cells.items():
            stack, own = kind.replace("cross", "decoder"), "cross" if kind == "cross" else "self"
            column[(weights["stack"] == stack) & (weights["kind"] == own)] = cells.ravel()
        return weights.assign(effect=column)

    def save(self, path: str | os.PathLike) -> None:
        """Write the effects to an .npz file, readable without this package."""
        facts = {
            "answer": self.answer,
            "labels": self.labels,
            "versus": self.versus,
            "certainty": self.certainty,
            "stand_in": self.stand_in,
            "tokens": self.tokens,
            "words": self.words.to_dict("list"),
        }
        arrays: dict[str, Any] = {f"{ABLATED}{kind}": found for kind, found in (self.ablated or {}).items()}
        with open(path, "wb") as file:
            np.savez_compressed(file, facts=np.array(json.dumps(facts)), **self.cells, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read a file written by `save`.

        Raises:
            ValueError: If the file is missing, damaged or another one.
        """
        try:
            arrays = read_arrays(path)
            facts = json.loads(str(arrays.pop("facts")))
            cells = {name: found for name, found in arrays.items() if not name.startswith(ABLATED)}
            ablated = {kind: arrays[f"{ABLATED}{kind}"] for kind in cells if f"{ABLATED}{kind}" in arrays}
            rows, labels, versus = facts["answer"]
            return cls(
                Answer(tuple(rows), tuple(labels), versus),
                tuple(facts["labels"]),
                facts["versus"],
                Certainty(*facts["certainty"]),
                cells,
                facts["stand_in"],
                {kind: (tuple(queries), tuple(keys)) for kind, (queries, keys) in facts["tokens"].items()},
                pd.DataFrame(facts["words"], columns=pd.Index(WORD_COLUMNS)),
                ablated or None,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Problem("effects.file", path=path, reason=str(error)) from None

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per cell.

        Returns:
            Columns kind, layer, head, query, key (0-based), query_token, key_token, effect; ordered by kind,
            layer, head, query, key.
        """
        frames = []
        for kind, cells in self.cells.items():
            layer, head, query, key = (axis.ravel() for axis in np.indices(cells.shape))
            queries, keys = (np.array(side, dtype=object) for side in self.tokens[kind])
            columns = {"kind": kind, "layer": layer, "head": head, "query": query, "key": key}
            columns |= {"query_token": queries[query], "key_token": keys[key], "effect": cells.ravel()}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)
