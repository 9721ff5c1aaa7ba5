"""Parameters of stored models that pictures are computed from."""

import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.trace import Trace

PROJECTIONS = {
    "encoder": "encoder_{}/attention",
    "decoder": "decoder_{}/self_attention",
    "cross": "decoder_{}/cross_attention",
}
"""Kind of attention -> name of the layer with its output projection; {} is the layer number."""


def parameters_of(
    model: str, names_of: Callable[[TransformerConfig], Iterable[str]]
) -> Mapping[str, np.ndarray]:
    """Return some parameters of a model; the last ones are kept.

    Args:
        model: The model, named as in `store.read_model`.
        names_of: A function that returns their names.

    Raises:
        ModelError: If the model can no longer be read.
    """
    return _read(model, names_of, store.stamp(model))


@functools.lru_cache(8)
def _read(model, names_of, _stamp):
    """Return the parameters; a rewritten model has another stamp."""
    stored = store.read_model(model)
    return {name: np.array(stored.parameters[name]) for name in names_of(stored.config)}


def projected_contexts(trace: Trace, kind: str, model: str) -> np.ndarray | None:
    """Return the output projection of the concatenated head contexts: float32 (layer, query, d_model).

    None if the model, named as in `store.read_model`, can no longer be read.
    """
    try:
        own = parameters_of(model, projection_names)
    except store.ModelError:
        return None
    projected = []
    for number, layer in enumerate(trace.kinds()[kind].layers):
        name = f"{PROJECTIONS[kind].format(number)}/output"
        projected.append(project_heads(layer.context, own.get(f"{name}/kernel"), own.get(f"{name}/bias")))
    return np.stack(projected)


def project_heads(
    context: np.ndarray, kernel: np.ndarray | None = None, bias: np.ndarray | None = None
) -> np.ndarray:
    """Return concat(head_1, ..., head_h) W^O + b (Vaswani et al., 2017, section 3.2.2).

    Without BLAS, which shares even a product of 0.2 ms among threads: where all cores are busy, they wait
    for one another for ten times as long.

    Args:
        context: float (head, query, value_dim).
        kernel: float (head * value_dim, d_model); None: no projection.
        bias: float (d_model,); None: 0.

    Returns:
        float32 (query, d_model).
    """
    joined = np.swapaxes(context, 0, 1).reshape(context.shape[1], -1)
    projected = joined if kernel is None else np.einsum("qc,cd->qd", joined, kernel)
    return np.asarray(projected if bias is None else projected + bias, np.float32)


def projection_names(config: TransformerConfig) -> list[str]:
    """Return the names of the parameters of the output projections of a model's attentions."""
    return [name for name in config.parameter_shapes() if "attention/output/" in name]
