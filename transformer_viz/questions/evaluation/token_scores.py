"""Which tokens a model predicts, as it is and with each control; one compiled graph for all of them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from transformer_viz.explorer.controls import HEADLESS, INTACT, UNIFORM, with_intervention
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.network.model import Transformer
from transformer_viz.questions.evaluation.cross_entropy import token_cross_entropy


class TokenScores(NamedTuple):
    """How well a model predicts the tokens of a batch.

    Attributes:
        nats: float32 (row, position), the cross-entropy of each token; 0 for [PAD].
        right: bool (3, row, position), whether no other token is likelier: of the model itself, with uniform
            attention, and with every head set to zero; False for [PAD].
    """

    nats: np.ndarray
    right: np.ndarray


def token_scores(explorer: Explorer, inputs: Mapping[str, np.ndarray], targets: np.ndarray) -> TokenScores:
    """Return how well a model predicts tokens.

    Args:
        explorer: `Explorer`.
        inputs: Arguments of `Transformer.trace`.
        targets: int32 (row, position), the tokens to predict; `pad_id` of the config where there is none.
    """
    score = explorer.compiled(("token scores", frozenset(inputs)), lambda: _compiled(explorer.model, inputs))
    controls = (INTACT, UNIFORM, HEADLESS)
    real, ids = targets != explorer.config.pad_id, np.maximum(targets, 0)
    found = [score(inputs, ids, change.head_gate, change.score_gate) for change in controls]
    return TokenScores(np.where(real, found[0][0], 0), real & np.stack([right for _, right in found]))


def _compiled(model: Transformer, inputs: Mapping[str, np.ndarray]) -> CompiledFunction:
    """Return the compiled function (inputs, targets, head gate, score gate) -> `token_cross_entropy`."""

    def score(inputs, targets, head_gate, score_gate):
        change = INTACT._replace(head_gate=head_gate, score_gate=score_gate)
        return token_cross_entropy(with_intervention(model, change)(inputs), targets)

    arrays = {name: tf.TensorSpec([None] * array.ndim, array.dtype) for name, array in inputs.items()}
    ids, number = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((), tf.float32)
    return CompiledFunction(score, [arrays, ids, number, number])
