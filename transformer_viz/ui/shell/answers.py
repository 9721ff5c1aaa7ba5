"""Requests to the engine: a cache shared by all visitors, progress, and errors as sentences."""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz import store
from transformer_viz.explorer.beams import BeamRequest, BeamTree
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects, HeadEffects
from transformer_viz.questions.effects.word_effects import TextEffects
from transformer_viz.questions.preferences.result import PreferenceRequest, Preferences
from transformer_viz.questions.roles.head_survey import HeadSurvey, SurveyRequest
from transformer_viz.questions.text_requests import (
    ClassesRequest,
    TextsRequest,
    WordEffectsRequest,
    WrittenRequest,
)
from transformer_viz.service.engine import EngineError
from transformer_viz.service.opening import keep_answer, kept_answer
from transformer_viz.store.places import command
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import EFFECTS, Request
from transformer_viz.trace.stream import Reading
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.journal import note
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.problems import error_text, show_problem
from transformer_viz.ui.shell.server import opening_requests, shared_engine
from transformer_viz.ui.shell.session import give_way, is_fragment_run

MAX_BYTES = 128 * 2**20
"""Memory of cached answers, in bytes; a larger answer is not cached."""

PATIENCE = 0.6
"""Seconds after which a progress bar appears."""

PLOT_HEIGHT = 460
"""Height of the placeholder while the engine computes, in pixels."""

CANCELLED = "cancelled"
"""Session key of the request that the visitor cancelled."""


def answer(request: Request) -> Trace | None:
    """Return the trace of a request; if there is none, show why and return None."""
    if isinstance(request.text, str) and not request.text.strip():
        st.info(t("sentence.empty"), icon=":material/edit:")
        return None
    restarts = shared_engine().restarts
    found = _answered(request)
    if found is not None and shared_engine().restarts > restarts:
        st.info(t("engine.restarted"), icon=":material/restart_alt:")
    return found


def whole_answer(request: Request) -> Trace:
    """Return the trace of a request with the whole of a large vocabulary, for a file; it is not cached."""
    return shared_engine().whole_trace(request)


def head_effects(request: Request) -> HeadEffects | None:
    """Return the effect of ablating each head; if there is none, show why and return None."""
    return _answered(dataclasses.replace(request, wants=EFFECTS))


def beam_tree(request: BeamRequest) -> BeamTree | None:
    """Return the tree of a beam search; if there is none, show why and return None."""
    return _answered(request)


def head_survey(request: SurveyRequest) -> HeadSurvey | None:
    """Return what each head does in many texts; if there is nothing, show why and return None.

    It is not cached: the texts are the visitor's own.
    """
    return _answered(request, _surveyed)


def classes(request: ClassesRequest) -> np.ndarray | None:
    """Return the probabilities that a classifier gives to its labels: float32 (text, label); if there is
    nothing, show why and return None. It is not cached: the texts are the visitor's own.
    """
    return _answered(request, _classified)


def written_rows(request: WrittenRequest) -> list[dict[str, Any]] | None:
    """Return what a model that writes says of many rows, a record for each; if there is nothing, show why and
    return None. It is not cached: the texts are the visitor's own.
    """
    return _answered(request, _written)


def word_effects(request: WordEffectsRequest) -> list[TextEffects] | None:
    """Return what the words of each text do to the labels of a classifier; if there is nothing, show why and
    return None. It is not cached: the texts are the visitor's own.
    """
    return _answered(request, _left_out)


def word_preferences(model: str, query: str | None = None) -> tuple[Preferences, ...]:
    """Return which words each head of the first layer prefers, in any text.

    Args:
        model: The model.
        query: Token that attends; None: all compared words, on average.

    Returns:
        Empty if the scores of two words depend on the text, the query is not in the vocabulary, or there is
        no answer: what is shown beside them says why.
    """
    try:
        return _preferred(PreferenceRequest(model, query), store.stamp(model))
    except (EngineError, store.ModelError):
        return ()


@cached(LRUCache(16), key=lambda request, stamp: (request, stamp), lock=threading.Lock())
def _preferred(request, stamp):
    """Return the preferences, shared by all visitors; a rewritten model has another stamp."""
    return shared_engine().preferences(request)


Asked = Request | SurveyRequest | TextsRequest | BeamRequest | EffectsRequest
"""A request that is answered with progress and a button to cancel."""

_ANSWERS: LRUCache[Any, Trace | HeadEffects | Reading | BeamTree | Effects] = LRUCache(
    MAX_BYTES, getsizeof=lambda found: found.nbytes
)


@cached(
    _ANSWERS,
    key=lambda request, stamp, progress: (request, stamp),
    lock=threading.Lock(),
)
def cached_answer(
    request: Request | BeamRequest | EffectsRequest, stamp: str, progress: Callable[[str, int, int], None]
) -> Trace | HeadEffects | Reading | BeamTree | Effects:
    """Return the answer to a request, shared by all visitors; a rewritten model has another stamp.

    Those with which the app opens may be those of an earlier server.
    """
    if isinstance(request, BeamRequest):
        return shared_engine().search(request, progress=progress)
    ask: Any = shared_engine().answer
    if isinstance(request, EffectsRequest):
        ask = shared_engine().effects
    openings = opening_requests().values()
    if request not in (*openings, *map(EffectsRequest, openings)):
        return ask(request, progress=progress)
    if kept := kept_answer(request):
        if isinstance(kept, Effects):  # whoever sees why will ask it of the next text
            shared_engine().warm_effects(request.model)
        return kept
    found = ask(request, progress=progress)
    if isinstance(found, Trace | Effects):
        keep_answer(request, found)
    return found


def _surveyed(request, stamp, progress):
    return shared_engine().survey(request, progress=progress)


def _written(request, stamp, progress):
    return shared_engine().written_rows(request, progress=progress)


def _left_out(request, stamp, progress):
    return shared_engine().word_effects(request, progress=progress)


def _classified(request, stamp, progress):
    return shared_engine().classes(request, progress=progress)


def _answered(request: Asked, ask: Callable[..., Any] | None = None) -> Any:
    """Return the answer to a request; None if cancelled or failed.

    Args:
        request: The request.
        ask: Returns the answer, with the arguments of `cached_answer`; None: that function.
    """
    if st.session_state.get(CANCELLED) == request:
        st.info(t("work.given_up"), icon=":material/stop_circle:")
        st.button(t("work.again"), icon=":material/replay:", on_click=_resume, key=f"again-{hash(request)}")
        return None
    progress = _Progress(request)
    compute: Any = ask or cached_answer
    try:
        return compute(request, store.stamp(request.model), progress)
    except NoTokensError:
        st.info(t("sentence.no_tokens"), icon=":material/edit:")
    except EngineError as error:
        facts: Any = {"model": Path(request.model).name, "code": error.code, **error.facts}
        note("engine", level=logging.WARNING, **facts)
        st.error(t(f"engine.{error.code}", command=command(), **error.facts), icon=":material/error:")
    except store.ModelError as error:
        st.error(t("model.unreadable", reason=error_text(error)), icon=":material/error:")
    except ValueError as error:
        show_problem(error)
    finally:
        progress.clear()
    return None


class _Progress:
    """A progress bar with a cancel button, once a request takes longer than `PATIENCE`.

    Below it stays the former answer, or stands a placeholder on a page that is being opened. Leaving the page
    or changing a widget cancels the request, too.
    """

    def __init__(self, request):
        self.request = request
        self.place, self.bar = st.empty(), None
        self.begin = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        give_way()
        if self.bar is None and time.monotonic() - self.begin < PATIENCE:
            return
        if self.bar is None:
            with self.place.container():
                with st.container(horizontal=True, vertical_alignment="center"):
                    self.bar = st.empty()
                    st.button(
                        t("work.give_up"),
                        icon=":material/stop:",
                        on_click=_cancel,
                        args=(self.request,),
                        key=f"give-up-{hash(self.request)}",
                    )
                if not is_fragment_run():
                    st.skeleton(height=PLOT_HEIGHT)
        share = done / total if total else 0.0
        self.bar.progress(share, t(f"work.{stage}", count=done, done=done, total=total))

    def clear(self) -> None:
        if self.bar is not None:
            self.place.empty()


def _cancel(request):
    st.session_state[CANCELLED] = request


def _resume():
    st.session_state.pop(CANCELLED, None)
