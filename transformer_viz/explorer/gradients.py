"""Gradients of one logit with respect to attention weights, contexts and embeddings.

Interventions add tensors to weights, contexts and the residual stream; the gradient with respect to an added
zero is the gradient with respect to the tensor itself, so the model needs no hooks.
"""

from collections.abc import Sequence
from typing import NamedTuple, Unpack

import numpy as np
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.language.short_repr import short_repr
from transformer_viz.trace.interventions import ATTENTION_KINDS, attention_kinds
from transformer_viz.trace.request import UNCHANGED, ChangeArguments, names_changes

PATCHES = ("weight_patch", "context_patch")
"""Fields of `Intervention` to which a zero is added, to differentiate with respect to it."""


class Gradients(NamedTuple):
    """Partial derivatives of one logit.

    Attributes:
        logit: The logit itself.
        weights: Kind ("encoder", "decoder", "cross", for those of the model) -> float32 (layer, head, query,
            key): derivative with respect to each attention weight.
        context: Kind -> float32 (layer, head, query, value_dim).
        token_embedding: float32 (position, d_model): derivative with respect to the residual stream in front
            of the first block, behind a normalisation or projection of the embeddings if there is one.
        target_token_embedding: The same for the target of an encoder-decoder, else None.
    """

    logit: float
    weights: dict[str, np.ndarray]
    context: dict[str, np.ndarray]
    token_embedding: np.ndarray
    target_token_embedding: np.ndarray | None

    def __repr__(self):
        return short_repr(self)


@names_changes
def gradients(
    explorer: Explorer,
    text: str | Sequence[int],
    *,
    output: int,
    position: int = -1,
    **changes: Unpack[ChangeArguments],
) -> Gradients:
    """Compute the gradients of one logit, in one compiled call.

    Args:
        explorer: `Explorer`.
        text: Text or token ids.
        output: Index of the logit: a class, or a token.
        position: Position of the logit, for models that predict tokens; negative: from the last token that
            is not [PAD].
        **changes: As for `Explorer.trace`.

    Raises:
        ValueError: If there is no such logit; also as `Explorer.trace`.
    """
    explorer.check_answers()
    prepared = explorer.prepare(explorer.with_target(explorer.request(text, **changes)))
    read = (prepared.target or prepared.source).is_real
    length, real = len(read), np.flatnonzero(read)
    if not 0 <= output < explorer.config.num_outputs:
        raise ValueError(f"`output` must be from 0 to {explorer.config.num_outputs - 1}. Received: {output}.")
    if explorer.config.predicts_tokens and not -len(real) <= position < length:
        raise ValueError(f"`position` must be from {-len(real)} to {length - 1}. Received: {position}.")
    differentiate = explorer.compiled("gradients", lambda: _compiled_gradients(explorer))
    given = prepared.interventions or explorer.forward.interventions(prepared, UNCHANGED)
    at = int(real[position]) if explorer.config.predicts_tokens and position < 0 else position
    indices = tf.constant(output), tf.constant(at)
    logit, found = differentiate(prepared.inputs, given, *indices)
    found = {name: gradient.numpy() for name, gradient in found.items()}
    sides = list(explorer.config.stacks)
    return Gradients(
        float(logit),
        {kind: found[f"{kind}.weight_patch"] for kind in attention_kinds(explorer.config)},
        {kind: found[f"{kind}.context_patch"] for kind in attention_kinds(explorer.config)},
        found[sides[0]],
        found[sides[1]] if len(sides) == 2 else None,
    )


def _compiled_gradients(explorer):
    """Return the compiled function (inputs, interventions, output, position) -> (logit, name -> gradient)."""
    config, forward, index = explorer.config, explorer.forward, tf.TensorSpec((), tf.int32)

    def differentiate(inputs, interventions, output, position):
        length = {"encoder": tf.shape(inputs["token_ids"])[1]}
        length["decoder"] = tf.shape(inputs.get("target_ids", inputs["token_ids"]))[1]
        probes = {}
        for kind in attention_kinds(config):
            stack = ATTENTION_KINDS[kind][0]
            keys = length["encoder" if kind == "cross" else stack]
            shape = (config.stacks[stack], config.num_heads, length[stack])
            probes[f"{kind}.weight_patch"] = tf.zeros((*shape, keys))
            probes[f"{kind}.context_patch"] = tf.zeros((*shape, config.value_dim))
        for stack in config.stacks:
            probes[stack] = tf.zeros((length[stack], config.d_model))
        with tf.GradientTape() as tape:
            tape.watch(probes)
            logits = forward(inputs, _with_probes(interventions, probes, config)).logits[0]
            logit = logits[position, output] if config.predicts_tokens else logits[output]
        return logit, tape.gradient(logit, probes, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return CompiledFunction(differentiate, [forward.signature, forward.interventions_signature, index, index])


def _with_probes(interventions, probes, config):
    """Return the interventions with the probes added."""
    changed = {}
    for stack, layers in config.stacks.items():
        first = tf.reshape(tf.one_hot(0, layers), (layers, 1, 1))
        before = interventions[stack].resid_pre
        before = before._replace(value=before.value + first * probes[stack])
        changed[stack] = interventions[stack]._replace(resid_pre=before)
    for kind in attention_kinds(config):
        stack, field = ATTENTION_KINDS[kind]
        own = getattr(changed[stack], field)
        patches = {name: getattr(own, name) + probes[f"{kind}.{name}"] for name in PATCHES}
        changed[stack] = changed[stack]._replace(**{field: own._replace(**patches)})
    return changed
