"""Estimated time and memory of a training run on this machine.

The formulas count arithmetic and memory traffic; the speed of the machine is measured. The constants
below stand for the overheads and the efficiency of TensorFlow, fitted to training steps of the presets on two
cores. GPUs are faster than the estimate. Other work on the machine slows everything down alike.
"""

import math
import os
import time
from typing import NamedTuple

import numpy as np
import psutil

from transformer_viz.data.cloze import MASKED_SHARE
from transformer_viz.language import Phrase
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import trained_parameters
from transformer_viz.training.runs.settings import TrainingSettings

BASE_BYTES = 850e6
"""Bytes of a process with TensorFlow, the data and two compiled models."""

STEP_SECONDS, BLOCK_SECONDS = 2e-3, 7e-4
"""Overhead of a step, and of each block of the model."""

START_SECONDS, COMPILE_SECONDS = 1.0, 1.9
"""Time apart from the steps: to read the data; and, for each block of the model, to build and compile it, and
to evaluate it after the last step, which compiles about as much again.
"""

PICTURE_SECONDS = 0.04
"""Time to record the probes once, for each block."""

OPTIMIZER_FLOATS = 8
"""Numbers read or written per parameter and step: parameter, gradient and Adam's two moments."""

AVERAGE_FLOATS = 3
"""Additional numbers for the moving average of the parameters."""

PASSES = 18
"""Passes per step over each number kept for the backward pass."""

AT_ONCE = 0.82
"""Share of these numbers in memory at the same time."""

EFFICIENCY = 0.8
"""Speed of a model's matrix products as a share of the measured speed."""

ALONE = 64
"""Rows of the largest matrices that NumPy multiplies on one core."""

FLOAT = 4
"""Bytes of a float32."""

FEWEST_CALLS = 3
"""Calls that are timed at least, however busy the machine is."""

MEASURED_SECONDS = 20
"""Seconds after which the speed of the machine is measured again."""


class Cost(NamedTuple):
    """Estimated cost of a run.

    Attributes:
        parameters: Trained numbers.
        steps_per_epoch: Batches of an epoch.
        step_flops: Multiplications and additions of a step, forward and backward.
        seconds_per_epoch: With validation, on the processor of this machine when otherwise idle.
        memory: Peak memory of the training process in bytes.
        other_seconds: Time apart from the epochs, mostly of compilation, when otherwise idle.
        seconds_per_picture: Time to record the probes once, when otherwise idle.
        slowdown: How many times as long everything takes beside what the machine does at present.
    """

    parameters: int
    steps_per_epoch: int
    step_flops: float
    seconds_per_epoch: float
    memory: float
    other_seconds: float
    seconds_per_picture: float
    slowdown: float

    def seconds(self, epochs: int, pictures: int = 0) -> float:
        """Return the estimated time of a whole run of so many epochs and pictures of the probes."""
        at_work = epochs * self.seconds_per_epoch + pictures * self.seconds_per_picture
        return self.slowdown * (self.other_seconds + at_work)

    def problem(self, available_bytes: float) -> Phrase | None:
        """Return why the run would not fit into so much memory, and how to fix it; None if it fits."""
        if self.memory <= available_bytes:
            return None
        return Phrase("training.estimate", needed=self.memory / 1e9, free=available_bytes / 1e9)


class Speed(NamedTuple):
    """Speed of a machine.

    Attributes:
        flops: Multiplications and additions per second in a large float32 matrix product.
        bytes: Bytes per second, read and written together, in a copy of memory.
    """

    flops: float
    bytes: float


def estimate(
    config: TransformerConfig,
    settings: TrainingSettings,
    num_rows: int,
    num_tokens: float,
    target_tokens: float = 0,
    trainable_layers: int | None = None,
) -> Cost:
    """Return the estimated cost of a training run.

    Args:
        config: `TransformerConfig` with the vocabulary size of the data.
        settings: `TrainingSettings`.
        num_rows: Training rows.
        num_tokens: Average tokens of a text, padding included.
        target_tokens: The same of the target of an encoder-decoder.
        trainable_layers: As in `TrainingJob`. Frozen layers have a forward pass alone; with them the
            estimate, which was fitted without, is rougher.
    """
    speed = machine_speed()
    flops, kept = _counts(config, num_tokens, target_tokens)
    shapes, rows = config.parameter_shapes(), min(settings.batch_size, num_rows)
    parameters = sum(math.prod(shapes[name]) for name in trained_parameters(config, trainable_layers))
    backward = 1 if trainable_layers is None else trainable_layers / sum(config.stacks.values())
    share = (1 + 2 * backward) / 3  # backward is twice forward
    step_flops, activations = 3 * share * rows * flops, rows * kept
    per_parameter = OPTIMIZER_FLOATS + AVERAGE_FLOATS * (settings.average > 0)
    moved = FLOAT * (per_parameter * parameters + PASSES * share * activations)
    steps = settings.steps_per_epoch(num_rows)
    blocks = sum(config.stacks.values())
    overhead = STEP_SECONDS + BLOCK_SECONDS * blocks
    validated = settings.validation / (1 - settings.validation - settings.test_share) / 3  # forward alone
    seconds = overhead + step_flops / (EFFICIENCY * speed.flops) + moved / speed.bytes
    memory = BASE_BYTES + parameter_bytes(config, settings, trainable_layers)
    memory += FLOAT * AT_ONCE * backward * activations
    return Cost(
        parameters,
        steps,
        step_flops,
        steps * seconds * (1 + validated),
        memory,
        START_SECONDS + COMPILE_SECONDS * blocks,
        PICTURE_SECONDS * blocks,
        slowdown(),
    )


def parameter_bytes(
    config: TransformerConfig, settings: TrainingSettings, trainable_layers: int | None = None
) -> int:
    """Return the bytes of the parameters in a training, with their gradients and averages.

    Arguments as for `estimate`.
    """
    shapes = config.parameter_shapes()
    trained = sum(math.prod(shapes[name]) for name in trained_parameters(config, trainable_layers))
    copies = 3 + (settings.average > 0)  # gradient, Adam's two moments
    return FLOAT * (2 * config.num_parameters + copies * trained)  # the evaluator has a copy


class _Speedometer:
    """The highest speed of this machine measured so far: other work only slows a measurement down."""

    def __init__(self):
        self._highest, self._due = Speed(0.0, 0.0), 0.0

    def read(self):
        """Return the highest speed, measured again if the last time was `MEASURED_SECONDS` ago."""
        if time.monotonic() >= self._due:
            self._highest = Speed(*map(max, self._highest, _measured_speed()))
            self._due = time.monotonic() + MEASURED_SECONDS
        return self._highest


_speedometer = _Speedometer()


def machine_speed() -> Speed:
    """Return the speed of this machine when otherwise idle; it is measured within about 0.1 s."""
    return _speedometer.read()


def _measured_speed():
    """Measure the speed on one core: a product spread over all cores waits for the slowest."""
    matrix, product = np.ones((ALONE, ALONE), np.float32), np.empty((ALONE, ALONE), np.float32)
    source = np.ones(2**21, np.float32)
    target = np.empty_like(source)
    multiply = _best(lambda: np.matmul(matrix, matrix, out=product))
    copy = _best(lambda: np.copyto(target, source))
    return Speed(num_cores() * 2 * ALONE**3 / multiply, 2 * source.nbytes / copy)


def slowdown() -> float:
    """Return how many times as long a training takes beside the programs of the last minute, at least 1.

    With as many programs waiting as the load average says, and one thread for each core of this process, each
    gets an equal share of the cores.
    """
    load, _, _ = psutil.getloadavg()
    return max(1.0, (load + num_cores()) / (psutil.cpu_count() or 1))


def num_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _clock():
    """Return the clock of this thread alone, which stands still while other programs run, if it is exact."""
    exact = time.get_clock_info("thread_time").resolution < 1e-6
    return time.thread_time if exact else time.perf_counter


def _best(function, seconds=0.05):
    """Return the shortest time of a call, of as many as fit into so many seconds."""
    clock, times, end = _clock(), [], time.perf_counter() + seconds
    while len(times) < FEWEST_CALLS or time.perf_counter() < end:
        start = clock()
        function()
        times.append(clock() - start)
    # a coarse clock of a virtual machine may stand still during a call
    return min((each for each in times if each > 0), default=seconds / len(times))


def _counts(config: TransformerConfig, num_tokens: float, target_tokens: float) -> tuple[float, float]:
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
    hidden = 2 if config.activation == "relu" else 6  # kept for the gradient of the activation
    return flops, queries * (hidden * config.ffn_dim + 4 * config.d_model)
