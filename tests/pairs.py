"""Two runs to compare: of every kind of change that a page offers, on shipped models."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from running_app import ROOT
from shelf import shelved as explorer

import transformer_viz as tv
from transformer_viz.trace.request import Request

MODELS = ROOT / "models"
GOOD = "This film was good."
NONE: Mapping[str, Any] = MappingProxyType({})


class Pair(NamedTuple):
    """Two runs.

    Attributes:
        model: Model of A.
        text: Text of A.
        chips: What the page says is changed, before "Undo all".
        other: Text of B; None: that of A.
        changes: Changes of B.
        other_model: Model of B; None: that of A.
    """

    model: str
    text: str
    chips: tuple[str, ...] = ("another text",)
    other: str | None = None
    changes: Mapping[str, Any] = NONE
    other_model: str | None = None


PAIRS = {
    "a word added": Pair("imdb-sentiment", GOOD, other="This film was not good."),
    "a word replaced": Pair("imdb-sentiment", GOOD, other="This film was bad."),
    "Chinese": Pair("reviews-zh", "房间很干净。", other="房间不太干净。"),
    "a translator": Pair("translate-en-fr", "I love you.", other="I do not love you."),
    "two heads of a writer off": Pair(
        "reviews-next",
        "The film was",
        ("Layer 1, head 2 off", "Layer 4, head 3 off"),
        changes={"ablate": [[0, 1], [3, 2]]},
    ),
    "one head off": Pair("imdb-sentiment", GOOD, ("Layer 2, head 6 off",), changes={"ablate": [[1, 5]]}),
    "an edge cut": Pair(
        "imdb-sentiment",
        GOOD,
        ("Layer 1, head 1: “good” → “was” cut",),
        changes={"cut": [[0, 0, 4, 3]]},
    ),
    "scores not divided": Pair(
        "imdb-sentiment", GOOD, ("scores not divided by √dₖ",), changes={"scaling": False}
    ),
    "no residual connections": Pair(
        "imdb-sentiment", GOOD, ("no residual connections",), changes={"residual": False}
    ),
    "no positions": Pair("imdb-sentiment", GOOD, ("position encoding: none",), changes={"positions": "none"}),
    "tokens reversed": Pair(
        "imdb-sentiment",
        "This film was not good, it was bad.",
        ("tokens reversed",),
        changes={"order": "reversed"},
    ),
    "a causal mask": Pair("imdb-sentiment", GOOD, ("mask: causal",), changes={"attention_mask": "causal"}),
    "a model with other heads": Pair(
        "imdb-sentiment", GOOD, ("model single-block",), other_model="single-block"
    ),
}


def query_of(pair):
    """Return what the address of A and B holds."""
    query = {"model": pair.other_model or pair.model, "text": pair.other or pair.text}
    query["before"] = Request(pair.model, pair.text).to_json()
    return query | ({"changes": json.dumps(pair.changes)} if pair.changes else {})


def chips_of(pair):
    """Return the chips of a pair as they are on the page."""
    return [*pair.chips, "Undo all"] if len(pair.chips) > 1 else [*pair.chips]


def traces(pair):
    """Return A and B, worked out here."""
    a = explorer(pair.model).trace(pair.text)
    b = explorer(pair.other_model or pair.model).trace(pair.other or pair.text, **pair.changes)
    return a, b


def compared(pair):
    """Return A and B, compared here."""
    return tv.compare(*traces(pair), orders=(None, pair.changes.get("order")))


def distribution(trace):
    """Return the probabilities of the classes, or of the next token."""
    return trace.probs if trace.probs.ndim == 1 else trace.probs[-1]
