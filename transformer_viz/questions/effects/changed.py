"""Forward passes that differ in ablated heads or muted cells alone, several at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction, Prepared
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import BlockIntervention
from transformer_viz.trace.request import Request

MOST_NUMBERS = 16_000_000
"""Most attention weights of all layers, or logits, of a batch, unless it is a single pass."""

MOST_WORK = 6_000_000_000
"""Most multiplications of a batch, about a fifth of a second on two cores, unless it is a single pass."""

VARIED = ("head_gate", "context_patch", "weight_gate")
"""Fields of `Intervention` in which passes may differ: those of ablated heads and muted cells."""


def changed_logits(
    explorer: Explorer,
    request: Request,
    changes: Iterable[Mapping[str, Any]],
    means: Mapping[str, np.ndarray] | None = None,
) -> Iterator[np.ndarray]:
    """Yield the logits under each of these changes to a request, a batch of them at a time.

    Args:
        explorer: `Explorer`.
        request: As for `Explorer.prepare`.
        changes: Name -> value of `ablate` or `mute`, for each pass, in place of the request's; {}: as it is.
        means: Replacement of an ablated context, from `Explorer.means_for`; None: zero.

    Yields:
        float32 (pass, ...), each as `Trace.logits`.
    """
    compute = explorer.compiled("changed", lambda: _compiled(explorer))
    prepared = explorer.forward.prepare(request)
    several = [request.changed(**each).changes for each in changes]
    size = batch_size(explorer.config, prepared)
    for start in range(0, len(several), size):
        part = several[start : start + size]
        passes = [explorer.forward.interventions(prepared, each, means=means) for each in part]
        yield compute(_repeated(prepared.inputs, len(passes)), _together(passes)).numpy()


def batch_size(config: TransformerConfig, prepared: Prepared) -> int:
    """Return how many passes over the texts of a `Prepared` fit into a batch."""
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
    """Return the interventions of a batch: that in which they differ has a batch axis behind the layers'."""

    def stacked(arrays):
        return np.stack(np.broadcast_arrays(*arrays), axis=1)

    return {stack: _varied([each[stack] for each in passes], stacked) for stack in passes[0]}


def _varied(blocks: Sequence[BlockIntervention], vary: Callable[[list], Any]) -> BlockIntervention:
    """Return the first of some interventions, with what `vary` makes of all in the fields of `VARIED`."""
    attentions = {}
    for name in ("self_attention", "cross_attention"):
        parts = [part for block in blocks if (part := getattr(block, name)) is not None]
        if parts:
            fields = {field: vary([getattr(part, field) for part in parts]) for field in VARIED}
            attentions[name] = parts[0]._replace(**fields)
    return blocks[0]._replace(**attentions)


def _compiled(explorer):
    """Return the compiled function from inputs and interventions to logits."""

    def with_batch(specs):
        [spec] = specs
        layers, *rest = spec.shape
        return tf.TensorSpec((layers, None, *rest), spec.dtype)

    signature = explorer.forward.interventions_signature.items()
    varied = {stack: _varied([change], with_batch) for stack, change in signature}
    return CompiledFunction(
        lambda *tensors: explorer.forward(*tensors).logits, [explorer.forward.signature, varied]
    )
