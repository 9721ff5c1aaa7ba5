"""The output layer of a model in one pass: what it computes, and its likeliest answers with their logits."""

from typing import Any

import numpy as np

from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.labels import label_of
from transformer_viz.trace.trace import Trace

LIKELIEST = 8
"""Number of labels whose logits and probabilities are listed, for each position."""


def about_output(trace: Trace, config: TransformerConfig, words: Words) -> str:
    """Return what the output layer computes; arguments as for `map_payload`."""
    if config.predicts_tokens:
        return words("map.about.output")
    pooled = words(f"map.pooling.{config.pooling}")
    if config.pooled_activation != "none":
        pooled = words("map.pooling.dense", pooled=pooled, activation=config.pooled_activation)
    if config.pooled_norm:
        pooled = words("map.pooling.norm", pooled=pooled)
    if config.output == "sigmoid":
        return words("map.about.score", pooled=pooled, label=label_of(trace, 1))
    return words("map.about.class", pooled=pooled)


def answers_of_classes(trace: Trace, config: TransformerConfig, words: Words) -> dict[str, Any]:
    """Return the likeliest classes for `mapdetail.js`; arguments as for `map_payload`.

    A sigmoid has one logit, that of the second class: the first has None.
    """
    is_score = config.output == "sigmoid"
    logits = [None, *trace.logits] if is_score else trace.logits
    scaled = "logit" if config.temperature == 1 else f"logit ÷ {config.temperature:.3g}"
    count = min(LIKELIEST, len(trace.labels))
    title = "map.answers.classes" if count == len(trace.labels) else "map.answers.some_classes"
    formula = f"{'sigmoid' if is_score else 'softmax'}({scaled})"
    return {
        "title": words(title, count=count, of=len(trace.labels)),
        "columns": [words("map.answers.class"), "logit", formula],
        "rows": [_likeliest(trace, logits, trace.probs)],
        "at": 0,
    }


def answers_of_tokens(trace: Trace, words: Words, rows: slice) -> dict[str, Any]:
    """Return the likeliest tokens at each position for `mapdetail.js`.

    Args:
        trace: The trace of a model that predicts tokens.
        words: Sentences of the visitor's language.
        rows: The positions that are shown.
    """
    numbers = range(len(trace.probs))[rows]
    answer = [*trace.gaps, np.flatnonzero(trace.is_real)[-1]][0]
    title = "map.answers.next" if trace.decoder else "map.answers.here"
    count = min(LIKELIEST, len(trace.labels))
    return {
        "title": words(title, position="{position}", count=count, of=len(trace.labels)),
        "columns": [words("map.answers.token"), "logit", "softmax(logit)"],
        "rows": [_likeliest(trace, trace.logits[number], trace.probs[number]) for number in numbers],
        "at": numbers.index(answer) if answer in numbers else 0,
    }


def _likeliest(trace, logits, probs):
    """Return the likeliest labels of one distribution, the likeliest first."""
    found = np.argpartition(-probs, min(LIKELIEST, len(probs)) - 1)[:LIKELIEST]
    found = found[np.argsort(-probs[found], kind="stable")]
    return [
        {
            "label": label_of(trace, int(number)),
            "logit": None if logits[number] is None else float(logits[number]),
            "prob": float(probs[number]),
        }
        for number in found
    ]
