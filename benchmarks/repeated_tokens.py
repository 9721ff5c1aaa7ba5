"""Which heads of a language model attend to the same token, and which to what followed it (induction).

`python benchmarks/repeated_tokens.py [--model reviews-next]`. Prints for each kind the five heads that do it
most on random tokens and their repetition, with the share of their weight.
"""

import argparse

import numpy as np

from transformer_viz import load
from transformer_viz.questions.evaluation.measure import induction_scores, same_token_scores


def main():
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="reviews-next")
    explorer = load(parser.parse_args().model)
    for name, scores in (
        ("same token", same_token_scores(explorer)),
        ("induction", induction_scores(explorer)),
    ):
        most = np.argsort(-scores, axis=None)[:5]
        heads = (np.unravel_index(each, scores.shape) for each in most)
        print(f"{name:12}", *(f"{layer}.{head} {scores[layer, head]:4.0%} " for layer, head in heads))


if __name__ == "__main__":
    main()
