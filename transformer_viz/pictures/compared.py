"""The payload of the attention views of two runs, side by side, and their difference."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from transformer_viz.language import Words, joined
from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures import views
from transformer_viz.pictures.labels import axis_tokens
from transformer_viz.pictures.lens import ALONE, Around
from transformer_viz.questions.effects.result import Effects
from transformer_viz.text.unicode import visible
from transformer_viz.trace.comparison import Comparison, merged

WHOLE = 0.01
"""Share of the weight from which on it is told without decimals."""

STILL = 0.0005
"""A head of which less weight moved attends as before: it would be shown as 0.0%."""


def compared_payload(
    comparison: Comparison,
    words: Words,
    effects: tuple[Effects, Effects] | None = None,
    around: Around = ALONE,
    captions: Mapping[str, list[list[str]]] = MappingProxyType({}),
    *,
    with_scores: bool = False,
) -> bytes:
    """Return the payload of the attention views of a comparison.

    Args:
        comparison: The two runs.
        words: Sentences of the visitor's language.
        effects: Effects on an answer in A and in B; None: unknown.
        around: What the page around the views adds.
        captions: Kind of attention -> what is said of each head below, by layer.
        with_scores: Whether B's scores are shown, too.

    Raises:
        ValueError: If the models differ in their kinds of attention, layers or heads.
    """
    shown = compared_attentions(comparison, words, around.acts)
    for kind, said in captions.items():
        shown[kind] = shown[kind]._replace(usual=said)
    for kind, payload in shown.items() if with_scores else ():
        shown[kind] = payload._replace(found=comparison.sides()[kind][1])
    if effects is not None:
        before, after = placed_effects(comparison, effects)
        theirs, ours = measured_heads(effects)
        for kind, cells in after.items():
            shown[kind] = shown[kind]._replace(
                effects=cells,
                ablated=ours.get(kind),
                effects_before=before[kind],
                ablated_before=theirs.get(kind),
            )
    run = compared_run(comparison) if around.asks_why else None
    return views.payload_bytes(comparison.b.model, shown, words.under("lens"), **around.header(), run=run)


def compared_run(comparison: Comparison) -> str:
    """Return a name for a comparison, by which the effects in both runs find it."""
    return "-".join(map(views.run_of, (comparison.a, comparison.b)))


def measured_heads(effects: tuple[Effects, Effects]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return kind of attention -> effect of each head of A and of B, if measured in both; else of neither.

    A measured effect beside an estimated one would differ by how it was found.
    """
    a, b = (found.ablated for found in effects)
    return ({}, {}) if a is None or b is None else (a, b)


def placed_effects(comparison: Comparison, effects: tuple[Effects, Effects]) -> list[dict[str, np.ndarray]]:
    """Return kind of attention -> effect of each cell at the aligned tokens, of A and of B; NaN: none."""
    return [
        {kind: comparison.placed(kind, cells, after=after) for kind, cells in found.cells.items()}
        for after, found in zip((False, True), effects, strict=True)
    ]


def compared_attentions(
    comparison: Comparison, words: Words, acts: dict[str, Any] | None = None
) -> dict[str, views.AttentionPayload]:
    """Return what the views show of each kind of attention, by kind; arguments as for `compared_payload`.

    Raises:
        ValueError: If the models differ in their kinds of attention, layers or heads.
    """
    moved, shown = comparison.moved, {}
    text, target = aligned_labels(comparison)
    for kind, (before, after) in comparison.sides().items():
        is_target = kind != "encoder" and bool(comparison.a.encoder)
        rows, columns = (target if is_target else text), (target if is_target and kind == "decoder" else text)
        places = [
            comparison.target_rows if labels is target else comparison.rows for labels in (rows, columns)
        ]
        shown[kind] = views.AttentionPayload(
            after._replace(layers=[layer._replace(scores=None) for layer in after.layers]),
            (rows, columns),
            name=words(f"kind.{kind}"),
            title=words("heatmap.query" if kind == "encoder" else "heatmap.writes"),
            row_help="" if kind == "encoder" else words.sentences["heatmap.row_help"],
            head_title=words("heads.title", layer="{layer}", head="{head}"),
            metrics={"moved": moved[kind]},
            roles=[[words("compare.role")] * after.layers[0].weights.shape[0] for _ in after.layers],
            captions=_captions(
                words, (before, after), moved[kind], columns, _off(acts, kind), _off_text(acts)
            ),
            vectors={},
            sentences=(np.zeros(len(rows), int), np.zeros(len(columns), int)),
            shares=[[f"{share:.0%}" for share in layer] for layer in moved[kind]],
            opening=divmod(int(moved[kind].argmax()), moved[kind].shape[1]),
            before=before,
            places=(places[0], places[1]),
            has_edges=True,
        )
    return shown


def aligned_labels(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Return the labels of the aligned tokens of the texts, and of the targets."""
    a, b = comparison.a, comparison.b
    return (
        _labels(comparison.rows, axis_tokens(a, a.tokens), axis_tokens(b, b.tokens)),
        _labels(comparison.target_rows, axis_tokens(a, a.target_tokens), axis_tokens(b, b.target_tokens)),
    )


def _labels(rows, ours, theirs):
    return [*merged(rows, *([visible(label) for label in labels] for labels in (ours, theirs)))]


def _off(acts, kind):
    """Return the heads of a kind of attention that are switched off, counted over all layers."""
    among = [each["among"] for each in acts["heads"] if each["name"] == "ablate"] if acts else []
    split = (place.split("-") for places in among for place in places)
    return {int(number) for of, number in split if of == kind}


def _off_text(acts):
    """Return the key of the sentence on a head that is switched off: what takes the place of its output."""
    groups = acts["groups"] if acts else []
    in_force = [each["act"] for group in groups for each in group["choices"] if each["pressed"]]
    is_mean = any(act["name"] == "reference" and act["value"] is not None for act in in_force)
    return "compare.off_mean" if is_mean else "compare.off"


def _captions(words, sides: tuple[Attentions, Attentions], moved, columns, off: set[int], off_text: str):
    """Return for each head how much of its weight moved, and between which keys most of it."""
    captions: list[list[str]] = []
    for one, other, shares in zip(sides[0].layers, sides[1].layers, moved, strict=True):
        absent = np.isnan(one.weights).all(axis=-1) | np.isnan(other.weights).all(axis=-1)
        change = np.nan_to_num(other.weights) - np.nan_to_num(one.weights)
        by_key = change[:, np.logical_not(absent[0])].sum(axis=1)
        captions.append([])
        for head, share in enumerate(shares):
            said = [words(off_text)] if len(shares) * (len(captions) - 1) + head in off else []
            if share >= STILL:
                gained, lost = (columns[int(end)] for end in (by_key[head].argmax(), by_key[head].argmin()))
                much = f"{share:.0%}" if share >= WHOLE else f"{share:.1%}"
                said.append(words("compare.moved", share=much, gained=gained, lost=lost))
            captions[-1].append(joined(*said) or words("compare.still"))
    return captions
