"""Parameters of stored models that pictures are computed from."""

import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from transformer_viz import store
from transformer_viz.values.config import TransformerConfig


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
