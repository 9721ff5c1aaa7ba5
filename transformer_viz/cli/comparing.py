"""The command that compares two runs."""

from argparse import Namespace
from typing import Any

import pandas as pd

from transformer_viz.cli.language import t
from transformer_viz.cli.output import give, in_words, say, table
from transformer_viz.language import Problem
from transformer_viz.network.startup import import_with_keras
from transformer_viz.pictures.labels import answer_text, label_of
from transformer_viz.trace.comparison import AnswerChange, Comparison
from transformer_viz.trace.comparison import compare as compare_traces
from transformer_viz.trace.request import OWN
from transformer_viz.trace.trace import Trace

MOST = 10
"""Heads that are printed, those of which most weight moved."""


def compare(arguments: Namespace) -> None:
    """Write the answers of two runs, and the heads of which most weight moved; as JSON all heads."""
    load = import_with_keras("store.load").load
    explorer = load(arguments.model)
    other = load(arguments.with_model) if arguments.with_model else explorer
    changes: dict[str, Any] = {"ablate": [*map(place, arguments.ablate)], "cut": [*map(place, arguments.cut)]}
    changes["ablate_ffn"] = [*map(layer, arguments.ablate_ffn)]
    changes |= {"positions": arguments.positions, "attention_mask": arguments.mask, "order": arguments.order}
    changes |= {"scaling": not arguments.unscaled, "residual": not arguments.no_residual}
    changes |= {"reference": OWN if arguments.mean else ()}
    before = explorer.trace(arguments.text)
    after = other.trace(arguments.with_text or arguments.text, **changes)
    comparison = compare_traces(before, after, orders=(None, arguments.order))
    say(f"A  {answered(before)}  {before.text}")
    say(f"B  {answered(after)}  {after.text}")
    facts: dict[str, Any] = {"a": facts_of(before), "b": facts_of(after), "change": None, "heads": None}
    change = comparison.answer()
    if change is not None:
        label = label_of(before, change.label)
        say(changed(label, change))
        numbers = {"before": change.before, "after": change.after, "log_odds": change.log_odds}
        facts["change"] = {"label": label, **numbers}
    if comparison.has_same_heads:
        heads = moved(comparison)
        shown = table(in_words(heads.head(MOST)), index=False, float_format="{:.4f}".format)
        say(f"\n{shown}")
        facts["heads"] = heads.to_dict("records")
    give(facts)


def place(text: str) -> tuple[str | int, ...]:
    """Return "1.3" as (1, 3), and "cross.0.2" as ("cross", 0, 2): a head or an edge of `Changes`.

    Raises:
        Problem: If the text is neither.
    """
    kind, *numbers = text.split(".")
    parts = [kind, *numbers] if kind.isdecimal() else numbers
    if not parts or not all(part.isdecimal() for part in parts):
        raise Problem("comparison.place", received=repr(text))
    found = tuple(map(int, parts))
    return found if kind.isdecimal() else (kind, *found)


def layer(text: str) -> int | tuple[str, int]:
    """Return "1" as 1, and "decoder.1" as ("decoder", 1): a feed-forward layer of `Changes`.

    Raises:
        Problem: If the text is neither.
    """
    stack, _, number = text.rpartition(".")
    if not number.isdecimal():
        raise Problem("comparison.layer", received=repr(text))
    return (stack, int(number)) if stack else int(number)


def answered(trace: Trace) -> str:
    """Return the answer of a run, a label with its probability."""
    text = answer_text(trace)
    return text if trace.encoder and trace.decoder else f"{text} {trace.answer_probs.max():.4f}"


def facts_of(trace: Trace) -> dict[str, Any]:
    """Return the facts of a run for scripts; what an encoder-decoder writes has no probability of its own."""
    writes = bool(trace.encoder and trace.decoder)
    probability = None if writes else trace.answer_probs.max()
    return {
        "model": trace.model,
        "text": trace.text,
        "answer": answer_text(trace),
        "probability": probability,
    }


def changed(label: str, change: AnswerChange) -> str:
    """Return what became of the probability of A's answer."""
    return t(
        "cli.compare.answer",
        label=label,
        before=f"{change.before:.4f}",
        after=f"{change.after:.4f}",
        points=f"{100 * (change.after - change.before):+.2f}",
        log_odds=f"{change.log_odds:+.4f}",
    )


def moved(comparison: Comparison) -> pd.DataFrame:
    """Return how much weight of each head moved, most first: columns kind, layer, head (0-based), moved."""
    rows = [
        (kind, layer, head, float(share))
        for kind, moved in comparison.moved.items()
        for layer, shares in enumerate(moved)
        for head, share in enumerate(shares)
    ]
    frame = pd.DataFrame(rows, columns=["kind", "layer", "head", "moved"])
    return frame.sort_values("moved", ascending=False, kind="stable")
