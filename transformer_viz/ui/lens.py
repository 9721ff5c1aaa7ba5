"""The views of attention on a page: what Python computes of each head, and every word they show."""

import functools

import numpy as np
import streamlit as st

from transformer_viz import views
from transformer_viz.analysis import distance, entropy, previous_token_score, roles
from transformer_viz.text import visible
from transformer_viz.trace import Attentions, Trace
from transformer_viz.ui.language import t
from transformer_viz.ui.looks import ONE_HEAD, choose_looks, looked_at

WORDS = (
    *("view", "kind", "layer", "head", "head_help", "all_heads", "value", "scale", "scale_head", "scale_one"),
    *("sort", "threshold", "row", "download", "key", "grid", "matrix", "lines", "steps", "grid_title"),
    *("matrix_title", "lines_title", "some", "pinned", "cell", "masked_cell", "query_of", "key_vector"),
    *("value_vector", "weighted_value", "masked", "equal", "unequal", "strongest_rows", "too_long"),
    *("table", "table_query", "table_keys"),
)
"""Words of the views that stand for themselves."""

NAMED = {
    "views": ("all", "grid", "matrix", "lines", "steps"),
    "values": ("weights", "scores", "masked", "norms"),
    "sorts": ("place", "entropy", "distance", "previous"),
}
"""Words of the views by what they name."""

SLOTS = {
    name: f"{{{name}}}"
    for name in ("layers", "heads", "layer", "head", "count", "of", "query", "key", "token", "error")
}
"""What the views themselves fill in."""

NOTHING = "\u2205"


@functools.cache
def component():
    """Return what shows the views; registered once in a process."""
    return st.components.v2.component(
        "transformer_viz.lens",
        html="<div></div>",
        css=views.stylesheet(),
        js=views.module("streamlit"),
    )


def show_lens(trace: Trace, tokens: dict[str, tuple[list[str], list[str]]]) -> bytes:
    """Show the attention of a trace, and how it can be looked at; return what is shown.

    Args:
        trace: What is shown.
        tokens: Kind of attention -> texts of its rows and of its columns.
    """
    payload = payload_of(trace, tokens, choose_looks(trace))
    component()(data=payload, key="lens")
    return payload


def payload_of(trace: Trace, tokens, looks=()) -> bytes:
    """Return a trace as the views read it, looked at in some ways, in the visitor's language."""
    found, tokens = looked_at(trace, tokens, looks)
    named = {kind: said_of(kind, layers) for kind, layers in found.items()}
    titles = {kind: t("heatmap.query" if kind == "encoder" else "heatmap.writes") for kind in found}
    return views.pack(
        trace,
        tokens=tokens,
        words=words() | {"matrix_title": title_of(looks)},
        names={kind: t(f"kind.{kind}") for kind in found},
        titles=titles,
        figures={kind: figures_of(kind, layers) for kind, layers in found.items()},
        saying=lambda kind, layer, head: named[kind][layer][head],
        kinds=found,
    )


def words() -> dict:
    """Return every word of the views, in the visitor's language."""
    single = {name: t(f"lens.{name}", **SLOTS) for name in WORDS}
    groups = {group: {name: t(f"lens.{group}.{name}") for name in names} for group, names in NAMED.items()}
    return single | groups


def title_of(looks) -> str:
    """Return what one picture is called, its numbers left open."""
    single = [look for look in looks if look in ONE_HEAD]
    if single:
        return t("lens.one_title", look=t(f"looks.{single[0]}"), **SLOTS)
    return t("lens.matrix_title", **SLOTS)


def figures_of(kind: str, found: Attentions) -> dict[str, np.ndarray]:
    """Return what heads can be sorted by: name -> float (layer, head)."""
    weights = np.stack([layer.weights for layer in found.layers])
    figures = {"entropy": entropy(weights)}
    if kind != "cross":
        figures["distance"] = distance(weights)
        if weights.shape[-1] > 1:
            figures["previous"] = previous_token_score(weights)
    return figures


def said_of(kind: str, found: Attentions) -> list[list[str]]:
    """Return what each head of each layer does, in words."""
    return [
        [
            t(
                f"role.{role.name}",
                percent=f"{role.share:.0%}",
                count=f"{role.share:.1f}",
                token=visible(found.key_tokens[role.key]) if found.key_tokens else NOTHING,
            )
            for role in roles(
                layer.weights, found.mask, found.query_tokens, found.key_tokens, cross=kind == "cross"
            )
        ]
        for layer in found.layers
    ]
