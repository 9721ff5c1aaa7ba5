"""What fine-tuning does to the heads of a model of the hub: its attention before and after, layer by layer.

`python benchmarks/heads_after_fine_tuning.py --before FOLDER --after MODEL --data dev.csv [--texts 200]`

For each layer, over so many texts of the file: how much of the weight lies elsewhere afterwards (total
variation, the mean over heads and queries), how much lies on the tokens around a text ([CLS] and [SEP])
before and after, and how far the log-odds of the answer change when one of its heads is ablated (mean of the
absolute values). Then the heads with the largest effects, and what each usually does before and after.
"""

import argparse

import numpy as np
import pandas as pd

import transformer_viz as tv
from transformer_viz.data import read_labelled
from transformer_viz.text.special import EDGES

HEADS = 5
"""Heads that are named."""


def main():
    """Print a table of the layers, and one of the heads with the largest effects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--texts", type=int, default=200)
    arguments = parser.parse_args()
    before, after = tv.load(arguments.before), tv.load(arguments.after)
    texts = read_labelled(arguments.data)["text"].sample(arguments.texts, random_state=0).tolist()
    layers = sum(compared(before, after, text) for text in texts) / len(texts)
    effects = np.mean([np.abs(tv.head_effects(after, text).log_odds["encoder"]) for text in texts], axis=0)
    layers["head effect"] = effects.mean(axis=1)
    print(layers.round(3).to_string(), "\n")
    roles = [tv.head_roles(each, texts).usual("encoder") for each in (before, after)]
    same = sum(
        one.name == other.name for pair in zip(*roles, strict=True) for one, other in zip(*pair, strict=True)
    )
    print(f"{same} of {effects.size} heads usually do the same as before")
    for place in np.argsort(-effects, axis=None)[:HEADS]:
        layer, head = np.unravel_index(place, effects.shape)
        was, now = (each[layer][head].name for each in roles)
        print(f"layer {layer + 1}, head {head + 1}: effect {effects[layer, head]:.2f}, {was} -> {now}")


def compared(before, after, text):
    """Return a row for each layer: how its attention differs in one text."""
    pair = [each.trace(text, keep="weights") for each in (before, after)]
    edges = np.array([token in EDGES for token in pair[0].tokens])
    rows = []
    for layers in zip(*(trace.encoder for trace in pair), strict=True):
        one, other = (layer.attention.weights for layer in layers)
        moved = np.abs(one - other).sum(axis=-1).mean() / 2
        rows.append((moved, *(each[..., edges].sum(axis=-1).mean() for each in (one, other))))
    numbers = pd.RangeIndex(1, len(rows) + 1, name="layer")
    return pd.DataFrame(rows, index=numbers, columns=["moved", "on edges before", "on edges after"])


if __name__ == "__main__":
    main()
