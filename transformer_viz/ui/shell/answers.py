"""Answers of the engine on a page: kept for all visitors, with progress, every error in one sentence."""

import logging
import threading
import time
from pathlib import Path

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz import store
from transformer_viz.service.engine import EngineError
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.ui.shell.journal import note
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.problems import said, show_problem
from transformer_viz.ui.shell.server import shared_engine
from transformer_viz.values.trace import Run, Trace

MAX_TRACE_BYTES = 128 * 2**20
"""Memory of the traces that are kept, in case somebody asks for one again; a larger one is not kept."""

MAX_EFFECTS = 256
"""Answers about the effects of heads that are kept."""

PATIENCE = 0.6
"""Seconds after which a page says what it is waiting for."""

PLOT_HEIGHT = 460
"""Pixels held for a picture while the answer is on its way."""

GIVEN_UP = "given-up"
"""Key in the session: the question that the visitor no longer waits for."""


def answer(run: Run) -> Trace | None:
    """Ask for the trace of a run; where there is none, say why and return None."""
    if not run.text.strip():
        st.info(t("sentence.empty"), icon=":material/edit:")
        return None
    restarts = shared_engine().restarts
    trace = _answered(cached_trace, run, "trace")
    if trace is not None and shared_engine().restarts > restarts:
        st.info(t("engine.restarted"), icon=":material/restart_alt:")
    return trace


def head_effects(run: Run) -> dict[str, np.ndarray] | None:
    """Ask for the effect of each head on the answer to a run; where there is none, say why, return None."""
    return _answered(cached_effects, run, "effects")


@cached(
    LRUCache(MAX_TRACE_BYTES, getsizeof=lambda trace: trace.nbytes),
    key=lambda run, stamp, progress: (run, stamp),
    lock=threading.Lock(),
)
def cached_trace(run: Run, stamp: str, progress) -> Trace:
    """Return the trace of a run, the same for all visitors; a model folder written anew has another stamp."""
    return shared_engine().trace(run, progress=progress)


@cached(LRUCache(MAX_EFFECTS), key=lambda run, stamp, progress: (run, stamp), lock=threading.Lock())
def cached_effects(run: Run, stamp: str, progress) -> dict[str, np.ndarray]:
    """Return the effect of each head on the answer to a run."""
    return shared_engine().head_effects(run, progress=progress)


def _answered(ask, run, name):
    """Return the answer to a question, unless the visitor has given it up or there is none."""
    if st.session_state.get(GIVEN_UP) == (name, run):
        st.info(t("work.given_up"), icon=":material/stop_circle:")
        st.button(
            t("work.again"), icon=":material/replay:", on_click=_resume, key=f"again-{hash((name, run))}"
        )
        return None
    progress = _Progress(name, run)
    try:
        with st.skeleton(height=PLOT_HEIGHT):
            return ask(run, store.stamp(run.model), progress)
    except NoTokensError:
        st.info(t("sentence.no_tokens"), icon=":material/edit:")
    except EngineError as error:
        note("engine", level=logging.WARNING, model=Path(run.model).name, code=error.code, **error.facts)
        st.error(t(f"engine.{error.code}", **error.facts), icon=":material/error:")
    except store.ModelError as error:
        st.error(t("model.unreadable", reason=said(error)), icon=":material/error:")
    except ValueError as error:
        show_problem(error)
    finally:
        progress.clear()
    return None


class _Progress:
    """Says what a visitor is waiting for, and lets them give it up, once it takes long.

    Streamlit ends a script at its next word to the page: a visitor who leaves or asks for something else ends
    the work here.
    """

    def __init__(self, name, run):
        self.question = (name, run)
        self.place, self.bar = st.empty(), None
        self.begin = time.monotonic()

    def __call__(self, stage, done, total):
        if self.bar is None:
            if time.monotonic() - self.begin < PATIENCE:
                return
            with self.place.container(horizontal=True, vertical_alignment="center"):
                self.bar = st.empty()
                st.button(
                    t("work.give_up"),
                    icon=":material/stop:",
                    on_click=_give_up,
                    args=(self.question,),
                    key=f"give-up-{hash(self.question)}",
                )
        share = done / total if total else 0.0
        self.bar.progress(share, t(f"work.{stage}", count=done, done=done, total=total))

    def clear(self):
        self.place.empty()


def _give_up(question):
    st.session_state[GIVEN_UP] = question


def _resume():
    st.session_state.pop(GIVEN_UP, None)
