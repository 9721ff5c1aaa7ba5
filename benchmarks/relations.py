"""Syntactic relations that the heads of models follow, beside two predictions without a model.

`python benchmarks/relations.py --choose dev.conllu --measure test.conllu [--model reviews-next]`, with
treebanks in the CoNLL-U format. For each relation and direction the head is chosen on one treebank and
measured on the other, with its standard error; `offset` is the distance that is right most often, `nearest`
the nearest word of a part of speech that the targets of the relation commonly have. Both are measured on the
same pairs of words.
"""

import argparse

import pandas as pd

from transformer_viz import read_treebank, relation_scores, store
from transformer_viz.network.startup import import_with_keras

GROUP = ["relation", "reads"]


def main():
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", nargs="+", default=[model.name for model in store.list_models()])
    parser.add_argument("--choose", required=True, help="treebank on which heads are chosen")
    parser.add_argument("--measure", required=True, help="treebank on which they are measured")
    arguments = parser.parse_args()
    choose, measure = read_treebank(arguments.choose), read_treebank(arguments.measure)
    for name in arguments.model:
        explorer = import_with_keras("store.load").load(name)
        table = table_of(relation_scores(explorer, choose), relation_scores(explorer, measure))
        print(f"{name}\n{table.to_string(index=False, float_format='{:.3f}'.format)}\n")


def table_of(chosen: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each relation, with the head that was best on the other treebank."""
    best = chosen.loc[chosen.groupby(GROUP)["accuracy"].idxmax(), [*GROUP, "layer", "head"]]
    found = best.merge(measured, on=[*GROUP, "layer", "head"])
    found["beats_both"] = found["accuracy"] > found[["offset_accuracy", "nearest_accuracy"]].max(axis=1)
    return found.sort_values("instances", ascending=False)


if __name__ == "__main__":
    main()
