"""Initial values of heads that attend to the same token."""

import math
from collections.abc import Mapping

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.positions import position_table
from transformer_viz.network.shapes import SELF_ATTENTION

LIKENESS = 13.26
"""Mean score of a token with itself at the beginning: of 256 tokens, its likes get most of the weight."""

KNOWN_PLACES = 0.98
"""Share of the position table's sum of squares in the directions that such a head does not read."""

EMBEDDING_VARIANCE = 0.05**2 / 3
"""Variance of an initial token embedding, which is uniform from -0.05 to 0.05."""


def same_token_values(
    parameters: Mapping[str, np.ndarray], config: TransformerConfig, heads: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Return query and key projections of which some heads begin by attending to the same token.

    In pre-trained vision Transformers, the product of query and key projection is near a multiple of the
    identity (mimetic initialization, Trockman and Kolter, 2023). Here some heads begin so: both are the same
    orthonormal projection, times a number. It leaves out the directions in which positions differ most, or a
    token's neighbours would be like it, too.

    Args:
        parameters: Name -> initial value, float32, of which the other heads keep theirs.
        config: `TransformerConfig` with as many key heads as query heads.
        heads: The first so many heads of self-attention, in all blocks of a stack except the last, or in its
            only one.
        seed: Of the projections.

    Returns:
        Name -> float32 (d_model, num_heads * head_dim).
    """
    rng, width = np.random.default_rng(seed), config.head_dim
    directions, variance = _directions_of_tokens(config)
    scale = math.sqrt(LIKENESS / (variance * math.sqrt(width)))
    values = {}
    for stack, blocks in config.stacks.items():
        for block in range(max(1, blocks - 1)):
            layer = f"{stack}_{block}/{SELF_ATTENTION[stack]}"
            names = [f"{layer}/{part}/kernel" for part in ("query", "key")]
            values |= {name: parameters[name].copy() for name in names}
            for head in range(heads):
                random = rng.standard_normal((len(directions), width))
                projection = scale * directions.T @ np.linalg.qr(random)[0]
                for name in names:
                    values[name][:, head * width : (head + 1) * width] = projection
    return values


def _directions_of_tokens(config):
    """Return orthonormal directions in which tokens differ more than positions, float (any, d_model), and the
    variance of a token along one of them.
    """
    directions, rows = np.eye(config.d_model), np.zeros((1, config.d_model))
    if config.has_position_table and config.positions != "learned":
        rows = position_table(config.positions, config.max_len, config.d_model)
        _, sizes, directions = np.linalg.svd(rows)
        known = np.searchsorted(np.cumsum(sizes**2) / (sizes**2).sum(), KNOWN_PLACES) + 1
        directions = directions[min(known, config.d_model - config.head_dim) :]
    tokens = EMBEDDING_VARIANCE * (config.d_model if config.scale_embedding else 1)
    places = EMBEDDING_VARIANCE if config.positions == "learned" else (rows**2).mean()
    return directions, tokens / (tokens + places) if config.normalises_inputs else tokens
