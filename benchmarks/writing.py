"""Time of each token that a language model writes, beside a pass over the whole text for each.

`python benchmarks/writing.py [--model reviews-next] [--prompt The] [--tokens 50]`. Both predict the same
tokens of the same text, by turns: the one keeps the keys and values of earlier tokens, the other computes
them anew. "Parameters read once" is the least that any token costs.
"""

import argparse
import importlib
import time

import numpy as np

from transformer_viz.network.startup import import_with_keras

TURNS, SPAN = 7, 10


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reviews-next")
    parser.add_argument("--prompt", default="The")
    parser.add_argument("--tokens", type=int, default=50)
    arguments = parser.parse_args()
    explorer = import_with_keras("store.load").load(arguments.model)
    forward, ops = import_with_keras("explorer.forward"), importlib.import_module("keras.ops")
    whole = forward.CompiledFunction(
        lambda inputs: explorer.model(inputs)[:, -1], [explorer.forward.signature["token_ids"]]
    )
    read = forward.CompiledFunction(lambda: [ops.sum(each) for each in explorer.model.weights], [])
    turns = [turn(explorer, whole, arguments.prompt, arguments.tokens) for _ in range(TURNS + 1)]
    kept, anew = np.moveaxis(turns[1:], 1, 0)  # the first one compiles
    print(f"{explorer.name}, {arguments.tokens} tokens, median of {TURNS} turns")
    for name, times in (("keys and values kept", kept), ("computed anew", anew)):
        first, last = np.median(times[:, :SPAN]), np.median(times[:, -SPAN:])
        print(f"{name:21} {first:6.2f} ms a token at first, {last:6.2f} ms at the end")
    print(f"{'parameters read once':21} {np.median([timed(read) for _ in range(TURNS * SPAN)]):6.2f} ms")
    print(f"ratio of all tokens   {np.median(anew.sum(axis=1) / kept.sum(axis=1)):6.2f}")
    print(f"ratio at the end      {np.median(anew[:, -SPAN:] / kept[:, -SPAN:]):6.2f}")


def timed(function):
    """Return the ms that a function takes."""
    begin = time.perf_counter()
    function()
    return 1000 * (time.perf_counter() - begin)


def turn(explorer, whole, prompt, tokens):
    """Return ms per token, with keys and values kept and with whole passes: float (2, token)."""
    writing = import_with_keras("explorer.writing").Writing(explorer, explorer.request(prompt))
    written, times = (), []
    for _ in range(tokens):
        ids = explorer.forward.prepare(writing.request(written)).inputs["token_ids"]
        begin = time.perf_counter()
        log_probs = writing.log_probs([written])
        middle = time.perf_counter()
        whole(ids).numpy()
        times.append((1000 * (middle - begin), 1000 * (time.perf_counter() - middle)))
        written = (*written, int(log_probs.argmax()))
    return np.array(times).T


if __name__ == "__main__":
    main()
