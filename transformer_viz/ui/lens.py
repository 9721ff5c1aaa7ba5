"""The views of attention on a page: what Python computes of each head, and every word they show."""

import functools

import numpy as np
import streamlit as st

from transformer_viz import store, views
from transformer_viz.analysis import Role, distance, entropy, previous_token_score, project_heads, roles
from transformer_viz.text import visible
from transformer_viz.trace import Attentions, Trace
from transformer_viz.ui.axis import texts_beside
from transformer_viz.ui.language import t, words_under
from transformer_viz.ui.looks import ONE_HEAD, Look, looked_at

PROJECTIONS = {
    "encoder": "encoder_{}/attention",
    "decoder": "decoder_{}/self_attention",
    "cross": "decoder_{}/cross_attention",
}
"""Kind of attention -> name of the layer whose parameters project its heads, but for its number."""

NOTHING = "\u2205"

SEVERAL = 10
"""Tokens from which on nobody counts their tenths."""


@functools.cache
def component():
    """Return what shows the views; registered once in a process."""
    return st.components.v2.component(
        "transformer_viz.lens",
        html="<div></div>",
        css=views.stylesheet("lens"),
        js=views.module("streamlit"),
    )


def show_lens(trace: Trace, looks=(), effects=None) -> bytes:
    """Show the attention of a trace; return what is shown. The arguments are those of `payload_of`."""
    projected = {} if looks else {kind: projected_of(trace, kind) for kind in trace.kinds()}
    payload = payload_of(trace, looks, effects, projected)
    component()(data=payload, key="lens")
    return payload


def payload_of(trace: Trace, looks=(), effects=None, projected=None) -> bytes:
    """Return a trace as the views read it, in the visitor's language.

    Args:
        trace: What is shown.
        looks: How it is looked at, as `choose_looks` returns it.
        effects: What each head does for the answer, as `head_effects` returns it; None: it is not known.
        projected: Kind of attention -> what `projected_of` returned; None: it is not known.
    """
    if effects is None or set(looks) & set(ONE_HEAD):
        effects = {}
    projected = projected or {}
    shown = {
        kind: views.Shown(
            look.found,
            (look.rows.labels, look.columns.labels),
            name=t(f"kind.{kind}"),
            title=t("heatmap.query" if kind == "encoder" else "heatmap.writes"),
            figures=figures_of(kind, look.found) | ({"effect": effects[kind]} if kind in effects else {}),
            head_title=title_of(looks, kind),
            sayings=said_of(kind, look, effects.get(kind)),
            vectors={} if looks else views.vectors_of(trace, kind, projected.get(kind)),
            sentences=(look.rows.sentences, look.columns.sentences),
        )
        for kind, look in looked_at(trace, texts_beside(trace), looks).items()
    }
    words = words_under("lens")
    if looks:
        words["too_long"] = t("steps.changed")
    return views.pack(trace.model, shown, words)


def projected_of(trace: Trace, kind: str) -> np.ndarray | None:
    """Return the heads' contexts joined and projected anew: float32 (layer, query, d_model).

    None where the model cannot be read any more.
    """
    try:
        own = output_parameters(trace.model, store.stamp(trace.model))
    except store.ModelError:
        return None
    projected = []
    for number, layer in enumerate(trace.kinds()[kind].layers):
        name = f"{PROJECTIONS[kind].format(number)}/output"
        projected.append(project_heads(layer.context, own.get(f"{name}/kernel"), own.get(f"{name}/bias")))
    return np.stack(projected)


@functools.lru_cache(8)
def output_parameters(model, stamp) -> dict[str, np.ndarray]:
    """Return the output projections of a model; a model folder written anew has another stamp."""
    parameters = store.read_model(model).parameters
    return {name: array for name, array in parameters.items() if "attention/output/" in name}


def title_of(looks, kind) -> str:
    """Return what the picture of a head is called, its numbers left open."""
    single = [look for look in looks if look in ONE_HEAD]
    if single and (single[0], kind) != ("rollout", "cross"):  # which is of self-attention
        return t("heads.reduced", look=t(f"looks.{single[0]}"), layer="{layer}")
    return t("heads.title", layer="{layer}", head="{head}")


def figures_of(kind: str, found: Attentions) -> dict[str, np.ndarray]:
    """Return what heads can be sorted by: name -> float (layer, head)."""
    weights = np.stack([layer.weights for layer in found.layers])
    figures = {"entropy": entropy(weights)}
    if kind != "cross":
        figures["distance"] = distance(weights)
        if weights.shape[-1] > 1:
            figures["previous"] = previous_token_score(weights)
    return figures


def said_of(kind: str, look: Look, effects: np.ndarray | None) -> list[list[str]]:
    """Return what each head of each layer does, in words, and what becomes of the answer without it."""
    found, said = look.found, []
    for number, layer in enumerate(found.layers):
        named = roles(layer.weights, found.mask, found.query_tokens, found.key_tokens, cross=kind == "cross")
        words = [role_in_words(role, look.columns.labels) for role in named]
        if effects is not None:
            words = [f"{word} {effect_in_words(effects[number, head])}" for head, word in enumerate(words)]
        said.append(words)
    return said


def role_in_words(role: Role, labels) -> str:
    """Say what a head does, whose columns have those texts beside them."""
    return t(
        f"role.{role.name}",
        percent=f"{role.share:.0%}",
        count=f"{role.share:.1f}" if role.share < SEVERAL else f"{role.share:.0f}",
        token=visible(labels[role.key]) if labels else NOTHING,
    )


def effect_in_words(effect: float) -> str:
    """Say how much less probable the answer is without a head."""
    return t("effects.less" if effect >= 0 else "effects.more", points=f"{abs(100 * effect):.1f}")
