"""Time of each token that a language model writes, beside a pass over the whole text for each.

`python benchmarks/writing.py [--model reviews-next] [--tokens 50]`. Both write the same tokens in the same run, by
turns; the keys and values of earlier tokens are kept in the one, and computed again in the other.
"""

import argparse
import statistics
import time

from transformer_viz.network.startup import load_upper_floor

PROMPT, TURNS, SPAN = "The", 5, 10


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reviews-next")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--tokens", type=int, default=50)
    arguments = parser.parse_args()
    explorer = load_upper_floor("inspection.explorer").load(arguments.model)
    import tensorflow as tf

    from transformer_viz.inspection.writing import Writing

    ids = tf.TensorSpec((None, None), tf.int32)
    whole = tf.function(lambda ids: explorer.model(ids)[:, -1], input_signature=[ids], autograph=False)
    prompt = explorer.forward.prepare(explorer.request(arguments.prompt)).source.ids.tolist()
    kept, anew = [], []
    for _ in range(TURNS + 1):  # the first compiles
        writing, written, times = Writing(explorer, explorer.request(arguments.prompt)), (), ([], [])
        for _ in range(arguments.tokens):
            begin = time.perf_counter()
            log_probs = writing.log_probs([written])[0]
            middle = time.perf_counter()
            logits = whole([[*prompt, *written]]).numpy()[0]
            times[0].append(1000 * (middle - begin))
            times[1].append(1000 * (time.perf_counter() - middle))
            token = int(log_probs.argmax())
            logits[:3] = -float("inf")
            written = (*written, token)
        kept.append(times[0])
        anew.append(times[1])
    print(f"{explorer.name}, {arguments.tokens} tokens behind {len(prompt)}, median of {TURNS} turns")
    for name, turns in (("keys and values kept", kept[1:]), ("computed anew", anew[1:])):
        first, last = (statistics.median(sum((turn[part] for turn in turns), [])) for part in parts())
        print(f"{name:22} {first:7.2f} ms a token at first, {last:7.2f} ms at the end")
    ratios = [sum(whole) / sum(cached) for cached, whole in zip(kept[1:], anew[1:], strict=True)]
    last = [sum(w[-SPAN:]) / sum(c[-SPAN:]) for c, w in zip(kept[1:], anew[1:], strict=True)]
    print(f"ratio of all           {statistics.median(ratios):7.2f}")
    print(f"ratio of the last {SPAN}   {statistics.median(last):7.2f}")


def parts():
    """Return the tokens that are compared: the first ones and the last ones."""
    return slice(0, SPAN), slice(-SPAN, None)


if __name__ == "__main__":
    main()
