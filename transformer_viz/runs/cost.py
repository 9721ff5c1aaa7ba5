"""What a training run would cost on this machine, before it is begun: time and memory, by formula.

The formulas count what is multiplied and what is moved; how fast this machine multiplies and moves is
measured once. What they cannot know, how well TensorFlow uses the machine, are the constants below, fitted to
steps of the presets on two cores. GPUs are faster than all of this.
"""

import functools
import os
import time
from typing import NamedTuple

import numpy as np

from transformer_viz.data.cloze import MASKED_SHARE
from transformer_viz.language import Phrase

BASE_BYTES = 850e6
"""A process that has TensorFlow loaded, its rows read and two models compiled."""

STEP_SECONDS, BLOCK_SECONDS = 2e-3, 7e-4
"""What a step costs before anything is computed, and each block of the model on top."""

OPTIMIZER_FLOATS = 8
"""Numbers read or written for each parameter in a step: Adam's two means, gradient and parameter."""

AVERAGE_FLOATS = 3
"""The same of the moving average of the parameters."""

PASSES = 18
"""How often a step goes over each number that is kept for the backward pass."""

AT_ONCE = 0.82
"""Share of these numbers that are there at the same time."""

EFFICIENCY = 0.8
"""Share of the speed of a product of matrices that the products of a model reach."""

ALONE = 64
"""Rows of the largest matrices that NumPy multiplies on one core."""

FLOAT = 4
"""Bytes of a number."""


class Cost(NamedTuple):
    """What a run would take.

    Attributes:
        parameters: Trained numbers.
        steps_per_epoch: Batches of an epoch.
        step_flops: Multiplications and additions of a step, forward and backward.
        seconds_per_epoch: On this machine's processor if nothing else needs it, validation left out.
        memory: Bytes of the training process at its largest.
    """

    parameters: int
    steps_per_epoch: int
    step_flops: float
    seconds_per_epoch: float
    memory: float

    def problem(self, available_bytes) -> Phrase | None:
        """Return why the run would not fit into so much memory, and the way out; None if it does."""
        if self.memory <= available_bytes:
            return None
        return Phrase("training.estimate", needed=self.memory / 1e9, free=available_bytes / 1e9)


class Speed(NamedTuple):
    """How fast a machine is.

    Attributes:
        flops: Multiplications and additions a second, in a large product of matrices in float32.
        bytes: Bytes a second, read and written together, in a copy of memory.
    """

    flops: float
    bytes: float


def estimate(config, settings, num_rows, num_tokens, target_tokens=0) -> Cost:
    """Return what training would cost.

    Args:
        config: `TransformerConfig`, with the vocabulary that the data will have.
        settings: `TrainingSettings`.
        num_rows: Texts trained on.
        num_tokens: Tokens of a text, on average, its padding included.
        target_tokens: The same of the target of an encoder-decoder.
    """
    speed = machine_speed()
    flops, kept = _counts(config, num_tokens, target_tokens)
    parameters, rows = config.num_parameters, min(settings.batch_size, num_rows)
    step_flops, activations = 3 * rows * flops, rows * kept  # backward is twice forward
    per_parameter = OPTIMIZER_FLOATS + AVERAGE_FLOATS * (settings.average > 0)
    moved = FLOAT * (per_parameter * parameters + PASSES * activations)
    steps = settings.steps_per_epoch(num_rows)
    overhead = STEP_SECONDS + BLOCK_SECONDS * sum(config.stacks.values())
    seconds = overhead + step_flops / (EFFICIENCY * speed.flops) + moved / speed.bytes
    copies = 5 + (settings.average > 0)  # value, gradient, Adam's two means, the evaluator's value
    memory = BASE_BYTES + FLOAT * (copies * parameters + AT_ONCE * activations)
    return Cost(parameters, steps, step_flops, steps * seconds, memory)


@functools.cache
def machine_speed() -> Speed:
    """Return how fast this machine is, measured when first asked in about a tenth of a second.

    One core at a time: a product shared out over cores waits, on a busy machine, for the slowest of them.
    """
    matrix, product = np.ones((ALONE, ALONE), np.float32), np.empty((ALONE, ALONE), np.float32)
    source = np.ones(2**21, np.float32)
    target = np.empty_like(source)
    multiply = _best(lambda: np.matmul(matrix, matrix, out=product))
    copy = _best(lambda: np.copyto(target, source))
    return Speed(num_cores() * 2 * ALONE**3 / multiply, 2 * source.nbytes / copy)


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _best(function, seconds=0.05):
    """Return the shortest time a call takes, of those that fit into so many seconds."""
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def _counts(config, num_tokens, target_tokens):
    """Return the flops of one text's forward pass, and the numbers kept for its backward pass."""
    lengths = dict.fromkeys(config.stacks, num_tokens)
    if len(lengths) == 2:
        lengths["decoder"] = target_tokens
    flops = kept = 0
    for stack, layers in config.stacks.items():
        queries = lengths[stack]
        parts = [_attention(config, queries, queries), _feed_forward(config, queries)]
        if stack == "decoder" and config.has_encoder:
            parts.append(_attention(config, queries, num_tokens))
        flops += layers * sum(part[0] for part in parts)
        kept += layers * sum(part[1] for part in parts)
        kept += 3 * queries * config.d_model  # embeddings, positions and dropout
    outputs = config.num_outputs * (lengths["decoder"] if config.has_decoder else 1)
    if config.fills_in:
        outputs *= MASKED_SHARE * num_tokens
    return flops + 2 * config.d_model * outputs, kept + 8 * outputs


def _attention(config, queries, keys):
    """Return flops and kept numbers of one attention layer."""
    head, value = config.num_heads * config.head_dim, config.num_heads * config.value_dim
    projected = queries * head + keys * (head + value)
    flops = 2 * config.d_model * projected + 2 * queries * keys * (head + value)
    kept = 2 * projected + 2 * queries * value + 3 * config.num_heads * queries * keys
    if config.output_projection:
        flops += 2 * queries * value * config.d_model
    return flops, kept + 4 * queries * config.d_model


def _feed_forward(config, queries):
    """Return flops and kept numbers of one feed-forward layer."""
    if not config.ffn_dim:
        return 0, 0
    flops = 4 * queries * config.d_model * config.ffn_dim
    hidden = 2 if config.activation == "relu" else 6  # what an activation leaves for its gradient
    return flops, queries * (hidden * config.ffn_dim + 4 * config.d_model)
