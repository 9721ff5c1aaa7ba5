"""What a model would answer at every step of its residual stream."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import tensorflow as tf

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.network.tensors import flatten
from transformer_viz.trace.softmax import label_logits, softmax
from transformer_viz.trace.stream import Reading, StreamStep, stream_steps
from transformer_viz.trace.trace import Trace


def logit_lens(explorer: Explorer, trace: Trace) -> pd.DataFrame:
    """Return what the output layer reads at every place of the residual stream (nostalgebraist, 2020).

    Args:
        explorer: `Explorer` of the model.
        trace: A trace of it, with all tensors.

    Returns:
        One row for each place of the last stack and each position, in the order of the computation. Columns
        layer (0-based, <NA> in front of the blocks), part ("embedding", "positions", "self", "cross", "ffn",
        "self_norm", ...), position, token, answer (the likeliest label), probability, and length (the
        Euclidean norm of the stream).
    """
    explorer.check_answers()
    tokens, frames = trace.target_tokens or trace.tokens, []
    for step, stream, probs in _read(explorer, trace):
        columns = {
            "layer": pd.array([step.layer] * len(tokens), "Int64"),
            "part": step.part,
            "position": range(len(tokens)),
            "token": tokens,
            "answer": [trace.labels[number] for number in probs.argmax(axis=-1)],
            "probability": probs.max(axis=-1),
            "length": np.linalg.norm(stream, axis=-1),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def reading_of(explorer: Explorer, trace: Trace) -> Reading:
    """Return the likeliest label at every step and its probability; arguments as for `logit_lens`."""
    best = [(probs.argmax(axis=-1), probs.max(axis=-1)) for _, _, probs in _read(explorer, trace)]
    labels, probs = zip(*best, strict=True)
    return Reading(np.stack(labels), np.stack(probs))


def read_out(explorer: Explorer, stream: np.ndarray) -> np.ndarray:
    """Return what a model would answer if its computation ended here, see `Transformer.read_out`.

    Args:
        explorer: `Explorer` of the model.
        stream: float (position, d_model), of its last stack.

    Returns:
        float32 (position, label), probabilities.
    """
    signature = [tf.TensorSpec((None, None, explorer.config.d_model), tf.float32)]
    compute = explorer.compiled("read out", lambda: CompiledFunction(explorer.model.read_out, signature))
    logits = compute(stream[None]).numpy()[0]
    return softmax(label_logits(explorer.config, logits), explorer.config.temperature)


def _read(explorer, trace) -> Iterator[tuple[StreamStep, np.ndarray, np.ndarray]]:
    """Yield each step of the last stack, the stream after it, and what is read there."""
    config, arrays = explorer.config, flatten(trace.values)
    for step in stream_steps(config):
        if step.stack == [*config.stacks][-1]:
            yield step, arrays[step.stream], read_out(explorer, arrays[step.stream])
