"""Mean contexts of heads, which replace them in mean ablation."""

from collections.abc import Iterable

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.interventions import ATTENTION_KINDS, attention_kinds
from transformer_viz.trace.trace import Trace


def mean_contexts(config: TransformerConfig, traces: Iterable[Trace]) -> dict[str, np.ndarray]:
    """Return the mean context of each head over all tokens of some traces, [PAD] left out.

    Returns:
        Kind of attention -> float32 (layer, head, value_dim).
    """
    sums: dict[str, np.ndarray] = {}
    count: dict[str, int] = {}
    for trace in traces:
        for kind in attention_kinds(config):
            stack, field = ATTENTION_KINDS[kind]
            contexts = np.stack([getattr(block, field).context for block in getattr(trace, stack)])
            token_ids = trace.target_ids if trace.encoder and stack == "decoder" else trace.token_ids
            contexts = contexts[:, :, token_ids != config.pad_id]
            sums[kind] = sums.get(kind, 0) + contexts.sum(axis=2)
            count[kind] = count.get(kind, 0) + contexts.shape[2]
    return {kind: total / count[kind] for kind, total in sums.items()}
