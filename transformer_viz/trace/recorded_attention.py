"""Attention weights that were recorded while a model of Keras computed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_viz.language import Phrase, Problem


class NoAttentionError(Problem):
    """A model has computed without attention weights that could be told as such."""


class RecordedAttention(dict[str, np.ndarray]):
    """Path of each layer -> its weights: float32 (batch, head, query, key).

    Args:
        weights: The weights by the paths of their layers.
        left_out: As the attribute.

    Attributes:
        left_out: Path of a layer -> why its softmax is not among the weights.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], left_out: Mapping[str, Phrase] | None = None):
        super().__init__(weights)
        self.left_out = dict(left_out or {})

    def __repr__(self):
        lines = [f"{name}: {each.dtype} {each.shape}" for name, each in self.items()]
        lines += [f"{name}: left out, {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)


class AttentionByEpoch:
    """The attention weights of the same inputs at several epochs of a training.

    Attributes:
        epochs: Numbers of the epochs after which they were recorded; 0: before the first.
        attention: The weights of each, as `attention_of` returns them.
        logs: The metrics of each, as `fit` reports them; of epoch 0 none.
    """

    def __init__(self):
        self.epochs: list[int] = []
        self.attention: list[RecordedAttention] = []
        self.logs: list[dict[str, Any]] = []
