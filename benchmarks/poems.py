"""What the lessons say of poems-zh, over a hundred poems that its training has not read.

    SCRIPT=benchmarks/poems.py sh models/train.sh DATA poems-zh

In how many poems of four lines layer 3, head 2 gives over half of its weight to the end of line two before
the last character; and how many next characters of any poem are guessed with the causal mask and without it.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "models"))

from measure import job_of_model

from transformer_viz import store
from transformer_viz.store.load import load
from transformer_viz.training.job import dataset_of

POEMS = 100
FOUR_LINES = (24, 32)
"""Characters of a poem of four lines of 5 or 7, with its punctuation."""


def main(argv):
    """Print both figures."""
    job = job_of_model(argv)
    poems = dataset_of(job, store.read_model(job.out)).test["text"].tolist()
    explorer = load(job.out)
    short = [poem for poem in poems if len(poem) in FOUR_LINES][:POEMS]
    rhyming = sum(weight_of_rhyme(explorer, poem) > 0.5 for poem in short)
    print(f"{rhyming} of {len(short)} poems of four lines: over half of the weight on the end of line two")
    for name, mask in (("causal mask", {}), ("no mask", {"attention_mask": "none"})):
        right = np.concatenate([guessed(explorer, poem, mask) for poem in poems[:POEMS]])
        print(f"{name}: {right.mean():.1%} of {len(right):,} next characters are the likeliest")


def weight_of_rhyme(explorer, poem):
    """Return how much of its weight the head gives to the end of line two, before the last character."""
    row = explorer.trace(poem[:-2]).decoder[2].self_attention.weights[1, -1]
    return row[len(poem) // 2 - 1]  # [START] stands before the first character


def guessed(explorer, poem, changes):
    """Return whether each character is the likeliest one after those before it: bool (character,)."""
    trace = explorer.trace(poem, **changes)
    likeliest = np.array(trace.labels, dtype=object)[trace.probs[:-1].argmax(axis=-1)]
    return likeliest == np.array(trace.tokens[1:], dtype=object)


if __name__ == "__main__":
    main(sys.argv[1:])
