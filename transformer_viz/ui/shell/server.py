"""State shared by all visitors: the engine and the trainer, started with the server."""

import asyncio
import contextlib
import functools
import gc
import os
import signal
import threading
import webbrowser
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Any

import streamlit as st

from transformer_viz import store
from transformer_viz.language import LANGUAGES, OWN_VARIABLE, Words, language_here
from transformer_viz.service.engine import Engine
from transformer_viz.service.opening import kept_answer
from transformer_viz.service.trainer import Trainer
from transformer_viz.service.window import OPENED, Presence, until_closed
from transformer_viz.trace.request import Request
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.listing import list_runs
from transformer_viz.ui.shell.card_facts import examples_of
from transformer_viz.ui.shell.classroom import TEACHER, is_classroom, teacher_secret
from transformer_viz.ui.shell.journal import open_log

FIRST_MODELS = {"en": ("imdb-sentiment", "reviews-next"), "zh": ("reviews-zh", "poems-zh")}
"""Language -> names of the models with which the app and *Writing* open, if they exist; that of the app in
English is first in lists.
"""

HEAD_START = 3.0
"""Seconds in which the first picture has the processors to itself, if its answer is kept."""


GOODBYE = "goodbye"
"""Where a page says that it goes, beside Streamlit's own files."""

LAST_SECONDS = 20.0
"""Seconds after which a server that is to end, and does not, is ended."""


@functools.cache
def presence() -> Presence:
    """Return who is connected to this server."""
    return Presence()


@functools.cache
def shared_engine() -> Engine:
    """Return the engine of this server; its processes start with `_warm` or with the first request."""
    return Engine()


@functools.cache
def opening_requests() -> dict[str, Request]:
    """Return language -> the request with which the app opens, for the first example of its model."""
    opened = {language: _first_model(language) for language in LANGUAGES}
    examples = {language: examples_of(model.card) for language, model in opened.items() if model}
    return {
        language: Request(model.reference, examples[language][0])
        for language, model in opened.items()
        if model and examples[language]
    }


def first_model(names: Collection[str], language: str) -> str:
    """Return the model with which the app opens in a language, of these names, in the order shown."""
    return next((each for each in FIRST_MODELS[language] if each in names), next(iter(names)))


def _first_model(language):
    """Return the model with which the app opens; None: there is no usable one."""
    with contextlib.suppress(store.ModelError):  # the pages show this error
        usable = {model.name: model for model in sorted_models(store.list_models()) if not model.problem}
        return usable[first_model(usable, language)] if usable else None
    return None


@functools.cache
def shared_trainer() -> Trainer:
    """Return the trainer of this server; its process starts with the first visit of the Train page."""
    return Trainer()


def sorted_models(models: Iterable[store.ModelSummary]) -> list[store.ModelSummary]:
    """Return the models by name, that with which the app opens in English first."""
    return sorted(models, key=lambda model: (model.name != FIRST_MODELS["en"][0], model.name))


def address() -> str:
    """Return the URL of the app at the first allowed host."""
    named = (host for host in st.get_option("server.allowedHosts") if "*" not in host)
    return f"http://{next(named, 'localhost')}:{st.get_option('server.port')}"


def chosen_language() -> str:
    """Return the part of an address that opens the app in the language chosen for it; "" without one."""
    language = os.environ.get(OWN_VARIABLE)
    return f"/?lang={language}" if language in LANGUAGES else ""


@contextlib.asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[dict[str, Any]]:
    """Start log and engine with the server, open the browser, and close engine and trainer at the end."""
    open_log()
    store.empty_trash()
    gc.collect()
    gc.freeze()  # before the engine exists: frozen objects are never collected
    loop, requests = asyncio.get_running_loop(), opening_requests().values()
    loop.call_later(HEAD_START if any(map(kept_answer, requests)) else 0, _warm)
    if is_classroom():
        page = f"{address()}/?{TEACHER}={teacher_secret()}"
        print(Words(language_here())("teacher.address", address=page), flush=True)
    if not st.get_option("server.headless"):
        # The port is open a moment after this function yields.
        loop.call_later(0.5, loop.run_in_executor, None, webbrowser.open, address() + chosen_language())
    ending = asyncio.create_task(end_with_window()) if has_window() else None
    yield {}
    if ending:
        ending.cancel()
    shared_engine().close()
    shared_trainer().close()


def has_window() -> bool:
    """Return whether this server belongs to a window that the command opened, not to a class."""
    return os.environ.get(OPENED) == "1" and not st.get_option("server.headless") and not is_classroom()


async def end_with_window() -> None:
    """End the server once its window is closed; a training goes on."""
    await until_closed(presence())
    words = Words(language_here())
    print(words("window.closed"), flush=True)
    with contextlib.suppress(RunError):
        if any(run.status in ("running", "queued") for run in list_runs()):
            print(words("window.training"), flush=True)
    end()


def end() -> None:
    """End the server as Ctrl-C does, as a success."""
    last = threading.Timer(LAST_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()
    server = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    if server is not None and hasattr(server, "should_exit"):  # uvicorn's, which would pass a signal on
        server.should_exit = True
    else:
        signal.raise_signal(signal.SIGINT)


def _warm():
    """Start the engine and load the models with which the app opens, in advance."""
    opened = filter(None, map(_first_model, LANGUAGES))
    for reference in dict.fromkeys(model.reference for model in opened):
        shared_engine().warm(reference)
