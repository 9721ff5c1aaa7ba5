"""Whether a language model copies what followed a name before, and which heads that takes.

`python benchmarks/names.py [--model reviews-next] [--off 1.5 2.2 3.4] [--others 1.2 2.4 3.0]`. Of 100 made-up
names, each stands in one of two sentences, which end with the first name: the next token is expected to be
the one that followed it before. Prints how often that is the likeliest token, and its mean probability, with
all heads and with some set to zero.
"""

import argparse
import itertools

import numpy as np

from transformer_viz import load

FIRST = [
    *("Zarina", "Oskarina", "Velmira", "Tobiah", "Isolde"),
    *("Marisela", "Ignatius", "Lucasta", "Fenwick", "Drusilla"),
]
LAST = [
    *("Blomqvist", "Harkavy", "Ostrander", "Quillfeather", "Vandermeer"),
    *("Castellano", "Prudhomme", "Whitlock", "Mazurek", "Tenenbaum"),
]
SENTENCES = (
    "My friend {first} {last} hated it. I must say that {first}",
    "I saw it with {first} {last} last night. Like me, {first}",
)


def main():
    """Print a line for all heads, and for each group of heads that is off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="reviews-next")
    parser.add_argument(
        "--off", nargs="+", type=head, default=[(1, 5), (2, 2), (3, 4)], help="layer.head, from 0"
    )
    parser.add_argument(
        "--others", nargs="+", type=head, default=[(1, 2), (2, 4), (3, 0)], help="as a control"
    )
    arguments = parser.parse_args()
    explorer = load(arguments.model)
    for name, off in (("all heads", []), ("without", arguments.off), ("without", arguments.others)):
        probs = np.array(
            [expected(explorer, *each, off) for each in enumerate(itertools.product(FIRST, LAST))]
        )
        named = " ".join(f"{layer}.{number}" for layer, number in off)
        right, probability = probs.mean(axis=0)
        print(f"{name + ' ' + named:24} right {right:4.0%}  probability {probability:.2f}")


def head(text):
    """Return layer and head of "3.0"."""
    layer, number = text.split(".")
    return int(layer), int(number)


def expected(explorer, number, name, off):
    """Return whether the token that followed the first name before is the likeliest, and its probability."""
    first, last = name
    text = SENTENCES[number % len(SENTENCES)].format(first=first, last=last)
    trace = explorer.trace(text, ablate=off)
    place = next(place for place, (start, _) in enumerate(trace.offsets) if start >= text.index(last))
    probs = trace.probs[-1]
    return probs.argmax() == trace.token_ids[place], probs[trace.token_ids[place]]


if __name__ == "__main__":
    main()
