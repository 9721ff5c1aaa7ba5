"""Controls: the same model with uniform attention, or without heads, to see what its attention is worth."""

from collections.abc import Callable
from typing import Any

import keras

from transformer_viz.network.model import Transformer
from transformer_viz.network.tensors import BlockIntervention, Intervention, Tensor, mapped

ops: Any = keras.ops  # its functions have no annotations, and the types inferred for them are wrong

INTACT = Intervention(head_gate=1.0, score_bias=0.0, weight_gate=1.0, score_gate=1.0)
"""No change."""

UNIFORM = INTACT._replace(score_gate=0.0)
"""Every score 0: each query shares its weight equally among its unmasked keys."""

HEADLESS = INTACT._replace(head_gate=0.0)
"""Every context 0: attention adds nothing but the bias of its output projection."""


def with_intervention(model: Transformer, intervention: Intervention | None) -> Callable[..., Tensor]:
    """Return the function from a model's inputs to its logits, with the same change to every attention.

    Args:
        model: `Transformer`; never modified.
        intervention: Of numbers or scalar tensors; None: the model itself.
    """
    if intervention is None:
        return model.__call__

    def logits(inputs):
        changes = {}
        for stack, layers in model.config.stacks.items():
            same = mapped(lambda number, rows=layers: number * ops.ones((rows, 1, 1, 1)), intervention)
            changes[stack] = BlockIntervention(same, same)
        named = inputs if isinstance(inputs, dict) else {"token_ids": inputs}
        return model.trace(**named, interventions=changes).logits

    return logits
