"""What a model would answer at every place of its residual stream."""

import numpy as np
import pandas as pd

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.tensors import flatten
from transformer_viz.trace.stream import output_names, read_out, stream_steps
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
    config, arrays = explorer.config, flatten(trace.values)
    variables = explorer.model.parameters()
    parameters = {name: np.asarray(variables[name]) for name in output_names(config)}
    tokens, last = trace.target_tokens or trace.tokens, [*config.stacks][-1]
    frames = []
    for place in stream_steps(config):
        if place.stack != last:
            continue
        stream = arrays[place.stream]
        probs = read_out(stream, config, parameters)
        columns = {
            "layer": pd.array([place.layer] * len(tokens), "Int64"),
            "part": place.part,
            "position": range(len(tokens)),
            "token": tokens,
            "answer": [trace.labels[number] for number in probs.argmax(axis=-1)],
            "probability": probs.max(axis=-1),
            "length": np.linalg.norm(stream, axis=-1),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
