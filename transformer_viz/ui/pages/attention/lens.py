"""The attention views on the page."""

import threading
from collections.abc import Callable
from typing import Any

import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz.language import Words
from transformer_viz.pictures.changes import acts_of
from transformer_viz.pictures.compared import compared_effects, compared_payload
from transformer_viz.pictures.lens import Around, payload_of
from transformer_viz.pictures.lessons import LessonView
from transformer_viz.pictures.parameters import projected_contexts
from transformer_viz.pictures.pipeline import pipeline_of
from transformer_viz.pictures.views import effects_bytes, run_of
from transformer_viz.questions.effects.result import Effects, HeadEffects
from transformer_viz.ui.shell.answers import word_preferences
from transformer_viz.ui.shell.card_facts import agreements_of
from transformer_viz.ui.shell.changing import act
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.heads import forget_other_model, head_roles_of, stamp_of
from transformer_viz.ui.shell.language import words
from transformer_viz.ui.shell.projector import KEY as PROJECTOR
from transformer_viz.ui.shell.projector import is_projected, keep_projector
from transformer_viz.values.comparison import Comparison
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

LENS = "lens"
"""Session key of the views."""

STEPS = "steps"
"""The view that needs the vectors."""

MAX_BYTES = 64 * 2**20
"""Memory of cached payloads, in bytes; a larger one is computed in every rerun."""


def show_lens(
    trace: Trace,
    request: Request,
    config: TransformerConfig,
    looks: tuple[str, ...] = (),
    effects: HeadEffects | None = None,
    before: Request | None = None,
    lesson: LessonView | None = None,
    *,
    asks_why: bool = False,
) -> Callable[[Effects | None], bytes]:
    """Show the attention views of a trace; return what returns their payload with all vectors, and with the
    effects on the answer that it is given.

    Args:
        trace: The answer to the request.
        request: The request.
        config: Config of the model.
        looks: As in `payload_of`.
        effects: As in `payload_of`.
        before: Request of a model with other heads whose answer it is compared with; None: none.
        lesson: As in `payload_of`.
        asks_why: Whether the effects on the answer follow, for `show_effects`.
    """
    forget_other_model(request.model)
    asked, language = (request, before, stamp_of(request.model)), words()
    vectors = (st.session_state.get(LENS) or {}).get("vectors") or STEPS in (
        st.query_params.get("view"),
        lesson and lesson.view,
    )
    around = config, (*asked, asks_why), lesson
    _show(_payload(trace, language, looks, effects, *around, vectors_later=not vectors))

    def whole(found: Effects | None = None) -> bytes:
        around = config, (*asked, asks_why and found is None), lesson
        return _payload(trace, language, looks, effects or found, *around)

    return whole


def show_effects(trace: Trace, effects: Effects, card: dict[str, Any]) -> None:
    """Hand the effects on an answer to the views that show it, with how good estimates are by the card."""
    agreements = agreements_of(card, effects)
    data = effects_bytes(run_of(trace), effects.cells, effects.ablated, agreements)
    component("effects")(data=data, key="cell-effects")


def show_compared(
    comparison: Comparison,
    request: Request,
    before: Request,
    config: TransformerConfig,
    lesson: LessonView | None = None,
    *,
    asks_why: bool = False,
) -> Callable[[tuple[Effects, Effects] | None], bytes]:
    """Show the attention views of a comparison; return what returns their payload with the effects on the
    answer in both runs.

    Args:
        comparison: The answers to both requests.
        request: The request of B.
        before: The request of A.
        config: Config of B's model.
        lesson: As in `compared_payload`.
        asks_why: As in `compared_payload`.

    Raises:
        ValueError: If the models differ in their kinds of attention, layers or heads.
    """
    forget_other_model(request.model)
    stamps = stamp_of(before.model), stamp_of(request.model)
    language = words()
    _show(_compared_payload(comparison, language, config, before, request, stamps, lesson, asks_why))

    def whole(found: tuple[Effects, Effects] | None) -> bytes:
        acts = acts_of(language, config, request, before, comparison.b)
        return compared_payload(comparison, language, acts, lesson, pipeline_of(config, language), found)

    return whole


def show_both_effects(comparison: Comparison, found: tuple[Effects, Effects]) -> None:
    """Hand the effects on an answer in both runs to the views that compare them."""
    component("effects")(data=compared_effects(comparison, found), key="cell-effects")


def _show(payload):
    keep_projector()
    default = {"exported": None, "projected": is_projected(), "vectors": False}
    events = {"on_exported_change": lambda: None, "on_projected_change": project, "default": default}
    events["on_vectors_change"] = lambda: None  # the views ask for another run of the page
    events["on_acted_change"] = lambda: act(st.session_state[LENS].acted)
    component("streamlit", "lens", "pipeline")(data=payload, key=LENS, **events)


def project() -> None:
    """Keep the size that was chosen in the views for the other pages."""
    st.session_state[PROJECTOR] = st.session_state[LENS].projected


def last_export() -> tuple[str, dict[str, Any] | None]:
    """Return the number of the last export of the page, "" for none, and the selection on which it opens."""
    exported = (st.session_state.get(LENS) or {}).get("exported")
    return (f"-{exported['number']}", exported["start"]) if exported else ("", None)


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda trace, words, looks, effects, config, *asked, vectors_later=False: (
        *(words.language, looks, type(effects), vectors_later),
        *asked,
    ),
    lock=threading.Lock(),
)
def _payload(trace, words: Words, looks, effects, config, asked, lesson, *, vectors_later=False):
    """Return the payload of an answer; `asked`: its request, that before, the stamp of the model, and whether
    the effects on the answer follow.
    """
    request, before, _, asks_why = asked
    model = request.model
    kinds = () if looks or vectors_later else trace.kinds()
    projected = {kind: projected_contexts(trace, kind, model) for kind in kinds}
    acts = acts_of(words, config, request, before, trace)
    known = head_roles_of(model), word_preferences(model)
    return payload_of(
        trace,
        words,
        looks,
        effects,
        projected,
        *known,
        Around(acts, lesson, pipeline_of(config, words), vectors_later, asks_why),
    )


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda comparison, words, config, *asked: (words.language, *asked),
    lock=threading.Lock(),
)
def _compared_payload(
    comparison: Comparison, words: Words, config, before, request, stamps, lesson, asks_why
):
    """Return the payload of a comparison; a rewritten model has another stamp."""
    acts = acts_of(words, config, request, before, comparison.b)
    return compared_payload(comparison, words, acts, lesson, pipeline_of(config, words), asks_why=asks_why)
