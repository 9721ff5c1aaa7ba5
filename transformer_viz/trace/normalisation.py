"""Normalisation of the residual stream, outside of a model."""

from collections.abc import Mapping

import numpy as np

from transformer_viz.network.config import TransformerConfig


def normalised(
    x: np.ndarray, config: TransformerConfig, parameters: Mapping[str, np.ndarray], name: str
) -> np.ndarray:
    """Return the result of a model's normalisation layer: float (..., d_model).

    Args:
        x: float (..., d_model).
        config: Of the model.
        parameters: Name -> array, those of the layer among them.
        name: Of the layer.
    """
    if config.norm_kind == "rms":
        size = np.sqrt((x**2).mean(axis=-1, keepdims=True) + config.norm_epsilon)
        return x / size * parameters[f"{name}/scale"]
    x = x - x.mean(axis=-1, keepdims=True)
    size = np.sqrt((x**2).mean(axis=-1, keepdims=True) + config.norm_epsilon)
    return x / size * parameters[f"{name}/gamma"] + parameters[f"{name}/beta"]
