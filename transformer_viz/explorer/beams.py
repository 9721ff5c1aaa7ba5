"""Beam searches: the texts that are tried, as a tree of tokens."""

from dataclasses import dataclass
from typing import NamedTuple

from transformer_viz.language.short_repr import short_repr

KEPT, FINISHED, DROPPED = "kept", "finished", "dropped"
"""Fates of a node: it is continued, it is [END], or there were enough likelier ones."""

ROOT = -1
"""Number of the beginning, before the first token."""

LENGTH_PENALTY = 0.6
"""Usual exponent of `penalised` (Vaswani et al., 2017, section 6.1)."""

NODE_BYTES = 250
"""Memory of a node."""


@dataclass(frozen=True)
class BeamRequest:
    """A request to search for the likeliest continuation of a text.

    Attributes:
        model: Name or folder of the model.
        text: As in `Request`; for a decoder-only model the prompt.
        written: Token ids that are written already.
        size: Beam width.
        most: Most tokens to write beyond them.
    """

    model: str
    text: str | tuple[int, ...]
    written: tuple[int, ...] = ()
    size: int = 3
    most: int = 12


def penalised(log_prob: float, length: int, alpha: float) -> float:
    """Return a log probability under the length penalty of Wu et al. (2016), equation 14.

    Args:
        log_prob: Of a text.
        length: Its number of tokens, [END] included.
        alpha: Exponent; above 0 it favours long texts.
    """
    return log_prob / ((5 + length) / 6) ** alpha


class BeamNode(NamedTuple):
    """A token that was tried.

    Attributes:
        parent: Number of the node before it; `ROOT`: none.
        token: Its id.
        log_prob: Sum of the log probabilities from the beginning up to it.
        fate: `KEPT`, `FINISHED` or `DROPPED`.
    """

    parent: int
    token: int
    log_prob: float
    fate: str


@dataclass(frozen=True)
class BeamTree:
    """A beam search, finished or not.

    Attributes:
        size: Beam width.
        most: Most steps.
        nodes: Every token that was tried, step by step, the likeliest of a step first.
        alive: Numbers of the nodes that the next step continues.
        done: Numbers of the nodes that are [END].
        steps: Number of steps so far.
    """

    size: int
    most: int
    nodes: tuple[BeamNode, ...] = ()
    alive: tuple[int, ...] = (ROOT,)
    done: tuple[int, ...] = ()
    steps: int = 0

    def __repr__(self):
        return short_repr(self)

    @property
    def is_over(self) -> bool:
        """Whether as many texts have ended as there are beams, or there are no more steps."""
        return self.steps >= self.most or len(self.done) >= self.size

    @property
    def nbytes(self) -> int:
        """Size in bytes, roughly."""
        return NODE_BYTES * (1 + len(self.nodes))

    def path(self, node: int) -> list[int]:
        """Return the numbers of the nodes from the beginning to one of them."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.nodes[node].parent
        return found[::-1]

    def ids(self, node: int) -> tuple[int, ...]:
        """Return the token ids from the beginning to a node."""
        return tuple(self.nodes[each].token for each in self.path(node))

    def log_prob(self, node: int) -> float:
        """Return the log probability of the text up to a node."""
        return 0.0 if node == ROOT else self.nodes[node].log_prob

    def score(self, node: int, alpha: float) -> float:
        """Return the score of the text up to a node, as `penalised` has it."""
        return penalised(self.log_prob(node), len(self.path(node)), alpha)

    def best(self, alpha: float) -> int:
        """Return the number of the node at which the text with the highest score ends."""
        return max(self.done or self.alive, key=lambda node: self.score(node, alpha))
