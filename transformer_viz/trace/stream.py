"""The residual stream: its places in the order of the computation, and what the output layer reads there."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.shapes import reads_normalised
from transformer_viz.trace.activations import activated
from transformer_viz.trace.normalisation import normalised
from transformer_viz.trace.softmax import label_logits, softmax


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
    steps = [("self", "self_attention", "resid_mid")]
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


def output_names(config: TransformerConfig) -> tuple[str, ...]:
    """Return the names of the parameters that `read_out` needs."""
    names = config.parameter_shapes()
    last = [*config.stacks][-1]
    starts = [f"{last}_norm/", "output/", "transform/", "transform_norm/"]
    starts += ["classifier/", "pooled/", "pooled_norm/"]
    if config.predicts_tokens and config.tie_embeddings:
        starts.append("token_embedding/")
    return tuple(name for name in names if name.startswith(tuple(starts)))


def read_out(
    stream: np.ndarray, config: TransformerConfig, parameters: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return what the model would answer if its computation ended at a place of the residual stream.

    The final layer normalisation, if there is one, and the output layer are applied to the stream of the last
    stack (the logit lens, nostalgebraist, 2020). After the last block this is the model's own answer; of a
    classifier, each position is read as if all were equal to it.

    Args:
        stream: float (position, d_model).
        config: Of the model.
        parameters: Name -> array, at least of `output_names`.

    Returns:
        float32 (position, label), probabilities.
    """
    norm = f"{[*config.stacks][-1]}_norm"
    if config.final_norm:
        stream = normalised(stream, config, parameters, norm)
    if config.predicts_tokens:
        logits = _over_vocabulary(stream, config, parameters)
    else:
        if config.pooled_activation != "none":
            stream = activated(config.pooled_activation, _dense(stream, parameters, "pooled"))
        if config.pooled_norm:
            stream = normalised(stream, config, parameters, "pooled_norm")
        logits = _dense(stream, parameters, "classifier")
    return softmax(label_logits(config, logits), config.temperature)


def _over_vocabulary(stream, config, parameters):
    if config.output_transform:
        stream = activated(config.activation, _dense(stream, parameters, "transform"))
        stream = normalised(stream, config, parameters, "transform_norm")
    if config.scale_output:
        stream = stream / config.d_model**0.5
    if not config.tie_embeddings:
        logits = _dense(stream, parameters, "output")
    else:
        logits = stream @ parameters["token_embedding/embeddings"].T + parameters.get("output/bias", 0)
    return logits if config.logit_cap is None else config.logit_cap * np.tanh(logits / config.logit_cap)


def _dense(x, parameters, name):
    return x @ parameters[f"{name}/kernel"] + parameters[f"{name}/bias"]


def settled_at(answers: np.ndarray) -> np.ndarray:
    """Return from which place on each position keeps its last answer: int (position,).

    Args:
        answers: int (place, position), the likeliest label at each place.
    """
    differs = answers != answers[-1]
    return np.where(differs.any(axis=0), len(answers) - differs[::-1].argmax(axis=0), 0)
