"""The payload of the attention views: head metrics, captions and all words shown."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.language import Words
from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures import views
from transformer_viz.pictures.captions import (
    HeadsInText,
    captions_of,
    patterns_of_trace,
    role_name,
    role_order,
    share_texts,
)
from transformer_viz.pictures.effects import effect_texts
from transformer_viz.pictures.evidence import evidence_of, evidence_title
from transformer_viz.pictures.labels import axis_labels, words_of
from transformer_viz.pictures.lessons import LessonView
from transformer_viz.pictures.looks import ONE_HEAD, apply_looks
from transformer_viz.pictures.vocabulary import preference_texts
from transformer_viz.questions.effects.result import Effects, HeadEffects
from transformer_viz.questions.preferences.result import Preferences
from transformer_viz.questions.roles.result import HeadRoles, kept_words
from transformer_viz.questions.roles.scores import distance, entropy, previous_token_score
from transformer_viz.questions.roles.words import typical_keys
from transformer_viz.trace.trace import Trace


class Around(NamedTuple):
    """What the page around the views adds.

    Attributes:
        acts: As `changes.acts_of` returns it; None: nothing can be changed.
        lesson: The lesson that the views open on; None: there is none.
        pipeline: The steps of the model, as `pipeline.pipeline_of` returns them; None: not shown.
        vectors_later: Whether the vectors of the step-by-step view are left out until the views ask for
            them: of 36 tokens and 4 × 8 heads, they are five sixths of the payload.
        asks_why: Whether the effects on the answer follow.
        answer: What the model answers in this run ("b"), and in the one that it is compared with ("a"), for
            saved pictures; None: it is not said.
        said: What else is said of the run, as `ui.workbench.said` does; None: nothing.
    """

    acts: dict[str, Any] | None = None
    lesson: LessonView | None = None
    pipeline: dict[str, Any] | None = None
    vectors_later: bool = False
    asks_why: bool = False
    answer: dict[str, str] | None = None
    said: dict[str, Any] | None = None

    def header(self) -> dict[str, Any]:
        """Return what of it the views find in the header of the payload."""
        named = {"acts": self.acts, "pipeline": self.pipeline, "answer": self.answer, "said": self.said}
        return named | {"lesson": self.lesson and self.lesson.header()}


ALONE = Around()
"""Nothing can be changed, and there is no lesson."""


def payload_of(
    trace: Trace,
    words: Words,
    looks: Collection[str] = (),
    effects: HeadEffects | Effects | None = None,
    projected: Mapping[str, np.ndarray | None] | None = None,
    head_roles: HeadRoles | None = None,
    preferences: tuple[Preferences, ...] = (),
    around: Around = ALONE,
) -> bytes:
    """Return the payload of the attention views of a trace.

    Args:
        trace: The trace to show.
        words: Sentences of the visitor's language.
        looks: Transformations to apply: names in `LOOKS`.
        effects: Effect of ablating each head, as `head_effects` returns it, or of each cell, as `effects`
            does; None: unknown. Of merged, dropped or averaged cells none is shown.
        projected: Kind of attention -> result of `projected_contexts`; None: unknown.
        head_roles: What the model's heads usually do; None: unknown. The views open on the head with the
            strongest evidence. After a transformation, which changes the matrices, and of a text much longer
            or shorter than those measured, only this text is described.
        preferences: The words that the heads of the first layer prefer, as `word_preferences` returns them.
        around: What the page around the views adds.
    """
    labels = words.under("lens")
    if looks:
        labels["too_long"] = words("steps.changed")
    elif measured := _nearest(head_roles, trace):
        labels["evidence"] = evidence_title(words, measured)
    run = views.run_of(trace) if around.asks_why and not looks else None
    vectors = None if around.vectors_later else projected or {}
    shown = described(trace, words, looks, effects, vectors, head_roles, preferences)
    lesson = around.lesson
    if lesson is not None and lesson.row is not None and not looks:
        shown[lesson.kind] = _covered(shown[lesson.kind], lesson, lesson.row)
    return views.payload_bytes(trace.model, shown, labels, **around.header(), run=run)


def _covered(payload, lesson, row):
    """Return a kind of attention without the row to be predicted, and without what would give it away."""
    captions, usual = ([[*layer] for layer in said] for said in (payload.captions, payload.usual))
    captions[lesson.layer][lesson.head] = lesson.question
    usual[lesson.layer][lesson.head] = ""
    covered = lesson.layer, lesson.head, row
    return payload._replace(covered=covered, captions=captions, usual=usual, evidence=None)


def vectors_bytes(trace: Trace, kind: str, layer: int, projected: np.ndarray | None) -> bytes:
    """Return the vectors of each step in one layer, for views that show the trace already.

    Args:
        trace: The trace.
        kind: Kind of attention.
        layer: Number of the layer, 0-based.
        projected: As `views.vectors_of` takes it.

    Raises:
        KeyError, IndexError: If the trace has no such layer.
    """
    vectors, arrays = views.vectors_of(trace, kind, projected), views.Arrays()
    of_layer = {name: found if name in views.OF_NO_LAYER else found[layer] for name, found in vectors.items()}
    described = {name: arrays.add(found, np.float32) for name, found in of_layer.items()}
    sizes = {name: found.shape[-1] for name, found in of_layer.items()}
    header = {"kind": kind, "layer": layer, "sizes": sizes, "arrays": described}
    return views.packed(header, arrays)


def described(
    trace: Trace,
    words: Words,
    looks: Collection[str] = (),
    effects: HeadEffects | Effects | None = None,
    projected: Mapping[str, np.ndarray | None] | None = MappingProxyType({}),
    head_roles: HeadRoles | None = None,
    preferences: tuple[Preferences, ...] = (),
) -> dict[str, views.AttentionPayload]:
    """Return what the views show of each kind of attention, by kind.

    Arguments as for `payload_of`; without `projected`, the vectors are left out.
    """
    if set(looks) & set(ONE_HEAD) or (looks and isinstance(effects, Effects)):
        effects = None
    measured = None if looks else _nearest(head_roles, trace)
    preferred = [] if looks else preference_texts(words, preferences)
    typical = typical_keys(trace.text, trace.offsets, trace.tokens, kept_words(measured))
    counted = words("looks.counted") if "words" in looks else ""
    possible, shown = patterns_of_trace(trace), {}
    for kind, look in apply_looks(trace, axis_labels(trace), looks).items():
        heads = HeadsInText(kind, look.whole, possible[kind], typical)
        usual = measured and measured.usual(kind)
        named = heads.roles if usual is None else usual
        ablated = isinstance(effects, HeadEffects)
        said = effect_texts(words, trace, effects, kind) if ablated else None
        texts = measured and measured.tokens
        told = captions_of(words, heads, look.keys, usual, said, () if shown else preferred, texts)
        metrics = head_metrics(kind, look.whole) | {"role": role_order(named)}
        if ablated:
            metrics["effect"] = effects.log_odds[kind]
        shown[kind] = views.AttentionPayload(
            look.found,
            (look.rows.labels, look.columns.labels),
            name=words(f"kind.{kind}"),
            title=words("heatmap.query" if kind == "encoder" else "heatmap.writes"),
            row_help="" if kind == "encoder" else words.sentences["heatmap.row_help"],
            head_title=title_of(words, looks, kind),
            metrics=metrics,
            roles=[[role_name(words, role) for role in layer] for layer in named],
            captions=told.here,
            usual=[[(below + counted).strip() for below in layer] for layer in told.usual],
            vectors={} if looks or projected is None else views.vectors_of(trace, kind, projected.get(kind)),
            later=projected is None and not looks and look.found.layers[0].query is not None,
            sentences=(look.rows.sentences, look.columns.sentences),
            words=(
                words_of(look.rows.texts, look.rows.words),
                words_of(look.columns.texts, look.columns.words),
            ),
            evidence=evidence_of(words, heads, measured),
            shares=None if usual is None else share_texts(usual),
            opening=_opening(heads, effects, head_roles, kind),
            has_edges=not looks,
            cap=None if trace.values.score_cap is None else float(trace.values.score_cap),
            **_effects_of(effects, kind),
        )
    return shown


def _opening(heads, effects, head_roles, kind):
    """Return the head that is shown first: the one that does most to the answer, else the clearest."""
    if isinstance(effects, Effects):
        found = effects.heads[kind]
        layer, head = divmod(int(np.abs(found).argmax()), found.shape[1])
        return layer, head
    return heads.clearest if head_roles is None else head_roles.opening(kind)


def _effects_of(effects, kind) -> dict[str, Any]:
    """Return the fields of `AttentionPayload` with the effects of cells and heads."""
    if isinstance(effects, HeadEffects):
        return {"ablated": effects.log_odds[kind]}
    if not isinstance(effects, Effects):
        return {}
    ablated = effects.ablated
    return {"effects": effects.cells[kind], "ablated": None if ablated is None else ablated[kind]}


def _nearest(head_roles, trace):
    """Return what the heads usually do in texts about as long as this one; None if that is unknown."""
    return head_roles and head_roles.nearest(len(trace.tokens))


def title_of(words: Words, looks: Collection[str], kind: str) -> str:
    """Return the title template of a head, with {layer} and {head} unreplaced."""
    single = [look for look in looks if look in ONE_HEAD]
    if single and (single[0], kind) != ("rollout", "cross"):  # rollout covers self-attention only
        return words("heads.reduced", look=words(f"looks.{single[0]}"), layer="{layer}")
    return words("heads.title", layer="{layer}", head="{head}")


def head_metrics(kind: str, found: Attentions) -> dict[str, np.ndarray]:
    """Return metrics to sort heads by: name -> float (layer, head).

    Args:
        kind: "encoder", "decoder" or "cross".
        found: Its attention, with every token in its place.
    """
    scores: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]
    scores = {"entropy": lambda weights, _: entropy(weights)}
    if kind != "cross":
        scores["distance"] = lambda weights, _: distance(weights)
        if found.layers[0].weights.shape[-1] > 1:
            scores["previous"] = previous_token_score
    layers = [(layer.weights, np.asarray(found.mask_of(at))) for at, layer in enumerate(found.layers)]
    return {  # layer by layer, since temporary arrays of one fit into the cache
        name: np.stack([score(*layer) for layer in layers]) for name, score in scores.items()
    }
