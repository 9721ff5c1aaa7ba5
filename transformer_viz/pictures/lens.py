"""The payload of the views of attention: what Python computes of each head, and every word they show."""

import functools

import numpy as np

from transformer_viz import store
from transformer_viz.analysis import (
    ROLES,
    Role,
    distance,
    entropy,
    previous_token_score,
    project_heads,
    roles,
)
from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.labels import axis_labels
from transformer_viz.pictures.looks import ONE_HEAD, apply_looks
from transformer_viz.text.tokenizer import visible
from transformer_viz.values.trace import Attentions, Trace

PROJECTIONS = {
    "encoder": "encoder_{}/attention",
    "decoder": "decoder_{}/self_attention",
    "cross": "decoder_{}/cross_attention",
}
"""Kind of attention -> name of the layer whose parameters project its heads, but for its number."""

EMPTY = "\u2205"

WHOLE_FROM = 10
"""Tokens from which on nobody counts their tenths."""


def payload_of(trace: Trace, words: Words, looks=(), effects=None, projected=None) -> bytes:
    """Return a trace as the views read it.

    Args:
        trace: What is shown.
        words: Sentences of the language it is shown in.
        looks: How it is looked at: names out of `LOOKS`.
        effects: What each head does for the answer, as `head_effects` returns it; None: it is not known.
        projected: Kind of attention -> what `projected_contexts` returned; None: it is not known.
    """
    if effects is None or set(looks) & set(ONE_HEAD):
        effects = {}
    projected = projected or {}
    shown = {}
    for kind, look in apply_looks(trace, axis_labels(trace), looks).items():
        named, labels = roles_of(kind, look.found), look.columns.labels
        metrics = head_metrics(kind, look.found) | {"role": role_order(named)}
        if kind in effects:
            metrics["effect"] = effects[kind]
        shown[kind] = views.AttentionPayload(
            look.found,
            (look.rows.labels, labels),
            name=words(f"kind.{kind}"),
            title=words("heatmap.query" if kind == "encoder" else "heatmap.writes"),
            head_title=title_of(words, looks, kind),
            metrics=metrics,
            roles=[[words(f"role_name.{role.name}") for role in layer] for layer in named],
            captions=captions_of(words, named, labels, effects.get(kind)),
            vectors={} if looks else views.vectors_of(trace, kind, projected.get(kind)),
            sentences=(look.rows.sentences, look.columns.sentences),
        )
    labels = words.under("lens")
    if looks:
        labels["too_long"] = words("steps.changed")
    return views.payload_bytes(trace.model, shown, labels)


def projected_contexts(trace: Trace, kind: str, model: str) -> np.ndarray | None:
    """Return the heads' contexts joined and projected anew: float32 (layer, query, d_model).

    None where the model, named as in `store.read_model`, cannot be read any more.
    """
    try:
        own = output_parameters(model, store.stamp(model))
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


def title_of(words: Words, looks, kind) -> str:
    """Return what the picture of a head is called, its numbers left open."""
    single = [look for look in looks if look in ONE_HEAD]
    if single and (single[0], kind) != ("rollout", "cross"):  # which is of self-attention
        return words("heads.reduced", look=words(f"looks.{single[0]}"), layer="{layer}")
    return words("heads.title", layer="{layer}", head="{head}")


def head_metrics(kind: str, found: Attentions) -> dict[str, np.ndarray]:
    """Return what heads can be sorted by: name -> float (layer, head)."""
    weights = np.stack([layer.weights for layer in found.layers])
    metrics = {"entropy": entropy(weights)}
    if kind != "cross":
        metrics["distance"] = distance(weights)
        if weights.shape[-1] > 1:
            metrics["previous"] = previous_token_score(weights)
    return metrics


def roles_of(kind: str, found: Attentions) -> list[list[Role]]:
    """Return what each head of each layer does."""
    tokens, cross = (found.query_tokens, found.key_tokens), kind == "cross"
    return [roles(layer.weights, found.mask, *tokens, cross=cross) for layer in found.layers]


def captions_of(words: Words, named: list[list[Role]], labels, effects: np.ndarray | None) -> list[list[str]]:
    """Say what each head of each layer does, and what becomes of the answer without it.

    Args:
        words: Sentences of a language.
        named: As `roles_of` returns it.
        labels: What stands beside the columns.
        effects: float (layer, head); None: they are not known.
    """
    said = [[role_text(words, role, labels) for role in layer] for layer in named]
    if effects is None:
        return said
    return [
        [f"{role} {effect_text(words, effect)}" for role, effect in zip(layer, row, strict=True)]
        for layer, row in zip(said, effects, strict=True)
    ]


def role_order(named: list[list[Role]]) -> np.ndarray:
    """Return by what heads that do the same stand together, who does it most first: float (layer, head)."""
    return np.array(
        [[-2 * ROLES.index(role.name) + role.share / (1 + role.share) for role in layer] for layer in named]
    )


def role_text(words: Words, role: Role, labels) -> str:
    """Say what a head does, whose columns have those texts beside them."""
    return words(
        f"role.{role.name}",
        percent=f"{role.share:.0%}",
        count=f"{role.share:.1f}" if role.share < WHOLE_FROM else f"{role.share:.0f}",
        token=visible(labels[role.key]) if labels else EMPTY,
    )


def effect_text(words: Words, effect: float) -> str:
    """Say how much less probable the answer is without a head."""
    return words("effects.less" if effect >= 0 else "effects.more", points=f"{abs(100 * effect):.1f}")
