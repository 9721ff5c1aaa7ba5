"""Effects of ablated heads on a model's answer."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.interventions import all_heads, by_kind
from transformer_viz.values.one_line import one_line

Head = tuple[Any, ...]
"""(layer, head), or (kind, layer, head), as in `Changes.ablate`."""


class Certainty(NamedTuple):
    """How certain a model is of an answer, or how much of that an ablation takes away.

    Attributes:
        probability: Probability p of the answer, averaged over its tokens; as a drop, in [-1, 1].
        log_odds: log(p / (1 - p)), natural logarithm, averaged over its tokens.
    """

    probability: float
    log_odds: float

    def drop_to(self, other: "Certainty") -> "Certainty":
        """Return this certainty minus another."""
        return Certainty(self.probability - other.probability, self.log_odds - other.log_odds)


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
        return one_line(self, ("answer", "probability", "together"))

    @classmethod
    def of(cls, config: TransformerConfig, found: Iterable[Certainty]) -> Self:
        """Return the effects from the certainty with each of `ablations(config)`."""
        answer, *without, last = found
        drops = [*zip(all_heads(config), map(answer.drop_to, without), strict=True)]
        return cls(
            answer,
            by_kind((head, drop.probability) for head, drop in drops),
            by_kind((head, drop.log_odds) for head, drop in drops),
            answer.drop_to(last),
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
