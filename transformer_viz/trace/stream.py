"""The residual stream: its places in the order of the computation, and what the output layer reads there."""

from typing import NamedTuple

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.shapes import reads_normalised


class StreamStep(NamedTuple):
    """A step of the computation that changes the residual stream.

    Attributes:
        stack: "encoder" or "decoder".
        layer: Number of the block, 0-based; None: in front of the blocks.
        part: "embedding", "embedding_norm" or "positions"; in a block "self", "cross" or "ffn", and in a
            post-norm block "self_norm", "cross_norm" or "ffn_norm".
        stream: Name of the residual stream after the step, as `network.tensors.flatten` names it.
        made: (what it is, name) of each tensor that shows the step: "before" and "after" a normalisation, the
            "normed" input of a pre-norm sub-layer, "hidden" activations, the "output" that is normalised
            before the addition, and what is "added" to the stream or, without residual connections,
            "replaces" it.
    """

    stack: str
    layer: int | None
    part: str
    stream: str
    made: tuple[tuple[str, str], ...]


class Reading(NamedTuple):
    """What the output layer reads at each step of the last stack, see `Transformer.read_out`.

    Attributes:
        labels: int (step, position), the likeliest label.
        probs: float32 (step, position), its probability.
    """

    labels: np.ndarray
    probs: np.ndarray

    @property
    def nbytes(self) -> int:
        """Size of both arrays in bytes."""
        return self.labels.nbytes + self.probs.nbytes


def stream_steps(config: TransformerConfig) -> tuple[StreamStep, ...]:
    """Return the places on the residual stream of a model, the encoder's first.

    >>> from transformer_viz.network.presets import PRESETS
    >>> [place.part for place in stream_steps(PRESETS["single-block"])]
    ['embedding', 'self', 'self_norm', 'ffn', 'ffn_norm']
    """
    places = []
    for stack, layers in config.stacks.items():
        side = "target_" if stack == "decoder" and config.has_encoder else ""
        token, position = f"{side}token_embedding", f"{side}position_embedding"
        made = (("added", position),) if config.has_position_table else ()
        if config.projects_embeddings:  # no place of the stream is the token alone
            made = (("added", token), *made)
        else:
            places.append(StreamStep(stack, None, "embedding", token, (("added", token),)))
        if config.segments and not side:
            made += (("added", "segment_embedding"),)
        if not made and config.embedding_norm:
            both = (("before", token), ("after", f"{stack}.0.resid_pre"))
            places.append(StreamStep(stack, None, "embedding_norm", f"{stack}.0.resid_pre", both))
        if made:
            places.append(StreamStep(stack, None, "positions", f"{stack}.0.resid_pre", made))
        for layer in range(layers):
            places += _block(config, stack, layer)
    return tuple(places)


def _block(config, stack, layer):
    """Return the places of one block."""
    own = "attention" if stack == "encoder" else "self_attention"
    steps = [("self", own, "resid_mid")]
    if stack == "decoder" and config.has_encoder:
        steps.append(("cross", "cross_attention", "resid_cross"))
    if config.ffn_dim:
        steps.append(("ffn", "ffn", "resid_post"))
    block, places = f"{stack}.{layer}", []
    for part, name, after in steps:
        made = [("normed", f"{block}.{name}_input")] if reads_normalised(config, name, layer) else []
        if part == "ffn":
            made.append(("hidden", f"{block}.ffn.hidden"))
        output = f"{block}.{name}.output"
        if config.norm == "sandwich":
            made.append(("output", output))
            output = f"{block}.{name}_added"
        made.append(("added" if config.residual else "replaces", output))
        total = f"{block}.{name}_sum" if config.norm == "post" else f"{block}.{after}"
        places.append(StreamStep(stack, layer, part, total, tuple(made)))
        if config.norm == "post":
            both = (("before", total), ("after", f"{block}.{after}"))
            places.append(StreamStep(stack, layer, f"{part}_norm", f"{block}.{after}", both))
    return places


def settled_at(answers: np.ndarray) -> np.ndarray:
    """Return from which place on each position keeps its last answer: int (position,).

    Args:
        answers: int (place, position), the likeliest label at each place.
    """
    differs = answers != answers[-1]
    return np.where(differs.any(axis=0), len(answers) - differs[::-1].argmax(axis=0), 0)
