"""What the server holds for all visitors: one engine, started before the first of them comes."""

import asyncio
import contextlib
import functools
import gc
import webbrowser

import streamlit as st

from transformer_viz import store
from transformer_viz.service.engine import Engine
from transformer_viz.service.trainer import Trainer
from transformer_viz.ui.shell.classroom import TEACHER, is_classroom, teacher_word
from transformer_viz.ui.shell.journal import open_log

FIRST_MODEL = "imdb-sentiment"
"""The model a visitor sees first, where there is one of that name."""


@functools.cache
def shared_engine() -> Engine:
    """Return the engine of this server, its child already loading the first model."""
    engine, models = Engine(), []
    with contextlib.suppress(store.ModelError):  # the pages say that they cannot be listed
        models = sorted_models(store.list_models())
    for model in models:
        if not model.problem:
            engine.warm(model.reference)
            break
    return engine


@functools.cache
def shared_trainer() -> Trainer:
    """Return what starts trainings; its process is started when the first visitor comes to train."""
    return Trainer()


def sorted_models(models) -> list[store.ModelSummary]:
    """Return the models by name, the one to show first in front."""
    return sorted(models, key=lambda model: (model.name != FIRST_MODEL, model.name))


def address() -> str:
    """Return the address of the app under the first allowed host."""
    named = (host for host in st.get_option("server.allowedHosts") if "*" not in host)
    return f"http://{next(named, 'localhost')}:{st.get_option('server.port')}"


@contextlib.asynccontextmanager
async def lifespan(app):
    """Start the log and the engine with the server, open the browser, and end the engine with it."""
    open_log()
    store.empty_trash()
    gc.collect()
    gc.freeze()  # before the engine is made: what is frozen is never given back
    engine = shared_engine()
    if is_classroom():
        print(f"  The teacher's page: {address()}/?{TEACHER}={teacher_word()}", flush=True)
    if not st.get_option("server.headless"):
        loop = asyncio.get_running_loop()  # the port is open a moment after this function yields
        loop.call_later(0.5, loop.run_in_executor, None, webbrowser.open, address())
    yield {}
    engine.close()
    shared_trainer().close()
