"""A beam search as a tree, for the view that draws it."""

from typing import Any

import numpy as np

from transformer_viz.explorer.beams import DROPPED, LENGTH_PENALTY, ROOT, BeamTree
from transformer_viz.language import Words
from transformer_viz.pictures.labels import label_of
from transformer_viz.trace.trace import Trace


def beams_of(words: Words, tree: BeamTree, trace: Trace) -> dict[str, Any]:
    """Return a search in the format of `beams.js`: of each step what was kept, and the likeliest of the rest.

    Args:
        words: Sentences of the visitor's language.
        tree: The search.
        trace: A trace of the model, which names the tokens.
    """
    best = set(tree.path(tree.best(LENGTH_PENALTY)))
    columns: list[list[int]] = [[] for _ in range(tree.steps)]
    for number in range(len(tree.nodes)):
        columns[len(tree.path(number)) - 1].append(number)
    shown: list[dict[str, Any]] = []
    places = {ROOT: -1}
    for column, numbers in enumerate(columns):
        kept = [number for number in numbers if tree.nodes[number].fate != DROPPED]
        dropped = [number for number in numbers if tree.nodes[number].fate == DROPPED]
        for row, number in enumerate([*kept, *dropped[: tree.size]]):
            node = tree.nodes[number]
            places[number] = len(shown)
            shown.append(
                {
                    "parent": places[node.parent],
                    "column": column,
                    "row": row,
                    "word": label_of(trace, node.token),
                    "share": float(np.exp(node.log_prob - tree.log_prob(node.parent))),
                    "total": round(node.log_prob, 2),
                    "score": round(tree.score(number, LENGTH_PENALTY), 2),
                    "fate": node.fate,
                    "best": number in best,
                    "ids": [*map(int, tree.ids(number))],
                }
            )
    return {
        "nodes": shown,
        "columns": tree.steps,
        "rows": 1 + max((node["row"] for node in shown), default=0),
        "texts": _texts(tree, trace, best),
        "cut": words("beams.cut", steps=tree.most) if len(tree.done) < tree.size else "",
        "labels": words.under("beams"),
    }


def _texts(tree, trace, best):
    """Return the texts that ended or are still continued, the highest score first."""
    ends = sorted({*tree.done, *tree.alive} - {ROOT}, key=lambda node: -tree.score(node, LENGTH_PENALTY))
    return [
        {
            "words": [label_of(trace, token) for token in tree.ids(node)],
            "total": round(tree.log_prob(node), 2),
            "score": round(tree.score(node, LENGTH_PENALTY), 2),
            "best": node in best,
            "ended": node in tree.done,
        }
        for node in ends
    ]
