"""Forward passes that differ in the ablated heads alone, several at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.inspection.forward import Compiled
from transformer_viz.questions.effects.result import Head
from transformer_viz.values.request import Request

MOST_NUMBERS = 16_000_000
"""Most attention weights of all layers, or logits, of a batch, unless it is a single pass."""

MOST_WORK = 6_000_000_000
"""Most multiplications of a batch, about a fifth of a second on two cores, unless it is a single pass."""

ABLATION = ("head_gate", "context_patch")
"""Endings of the names of the inputs that ablation changes."""


def ablated_logits(
    explorer: Explorer,
    request: Request,
    groups: Iterable[Sequence[Head]],
    means: Mapping[str, np.ndarray] | None,
) -> Iterator[np.ndarray]:
    """Yield the logits with each of these groups of heads ablated, a batch of groups at a time.

    Args:
        explorer: `Explorer`.
        request: As for `Explorer.prepare`, without ablated heads.
        groups: Groups of heads; an empty one: no head is ablated.
        means: Replacement of an ablated context, from `Explorer.means_for`; None: zero.

    Yields:
        float32 (group, ...), each as `Trace.logits`.
    """
    compute = explorer.compiled("ablated", lambda: _compiled(explorer))
    prepared = explorer.forward.prepare(request)
    groups, size = list(groups), _size(explorer.config, prepared)
    for start in range(0, len(groups), size):
        changes = [request.changed(ablate=tuple(heads)).changes for heads in groups[start : start + size]]
        passes = [explorer.forward.interventions(prepared, each, means=means) for each in changes]
        yield compute(_repeated(prepared.inputs, len(passes)), _together(passes)).numpy()


def _size(config, prepared):
    """Return how many passes fit into a batch."""
    keys = queries = len(prepared.source.ids)
    weights = config.num_layers * keys**2
    if prepared.target is not None:
        queries = len(prepared.target.ids)
        weights += config.num_decoder_layers * queries * (queries + keys)
    numbers = max(config.num_heads * weights, queries * config.num_outputs)
    work = config.num_parameters * max(keys, queries)
    return max(1, min(MOST_NUMBERS // max(numbers, 1), MOST_WORK // work))


def _repeated(inputs, times):
    """Return the inputs of a batch of passes over the same texts; masks and positions broadcast."""
    return {
        name: np.repeat(tensor, times, axis=0) if name in ("token_ids", "target_ids") else tensor
        for name, tensor in inputs.items()
    }


def _together(passes):
    """Return the interventions of a batch: what ablation changes has a batch axis behind the layers'."""
    return {
        name: np.stack(np.broadcast_arrays(*(each[name] for each in passes)), axis=1)
        if name.endswith(ABLATION)
        else tensor
        for name, tensor in passes[0].items()
    }


def _compiled(explorer):
    """Return the compiled function from inputs and interventions to logits."""
    interventions = explorer.forward.interventions_signature
    for name, spec in interventions.items():
        if name.endswith(ABLATION):
            layers, *rest = spec.shape
            interventions[name] = tf.TensorSpec((layers, None, *rest), spec.dtype)
    return Compiled(
        lambda *tensors: explorer.forward(*tensors).logits, [explorer.forward.signature, interventions]
    )
