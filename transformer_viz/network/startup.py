"""Importing modules that need Keras, under the right backend and without TensorFlow's start-up messages."""

import contextlib
import importlib
import logging
import os
import sys
import tempfile
from types import ModuleType

from transformer_viz.language import Problem

UNDER_ANY_BACKEND = ("network.model", "explorer.attention_of", "explorer.attention_history")
"""Modules that compute under any backend of Keras; all others need TensorFlow."""


def choose_tensorflow() -> None:
    """Let Keras compute with TensorFlow in a program of our own, whatever `KERAS_BACKEND` says to others."""
    os.environ["KERAS_BACKEND"] = "tensorflow"


def import_with_keras(name: str) -> ModuleType:
    """Import a module that needs Keras, and return it.

    TensorFlow writes to standard error before any of its settings takes effect; these messages are shown
    only if the import fails.

    Args:
        name: Module in this package: "explorer.explorer", "training.job".

    Raises:
        ValueError: If it needs TensorFlow, and Keras has another backend.
    """
    backend = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if "keras" in sys.modules:  # which may have chosen by its own file
        backend = sys.modules["keras"].backend.backend()
    if backend != "tensorflow" and name not in UNDER_ANY_BACKEND:
        raise Problem("backend", backend=backend)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # several processes share a GPU
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it warns of one compilation per model
    with _standard_error_captured(), _without_jax():
        return importlib.import_module(f"transformer_viz.{name}")


@contextlib.contextmanager
def _without_jax():
    """Keep TensorFlow from importing JAX, a sixth of its start: only its converter for phones uses it."""
    is_wanted = os.environ["KERAS_BACKEND"] == "jax" or "jax" in sys.modules
    if is_wanted or "tensorflow" in sys.modules:
        yield
        return
    sys.modules["jax"] = None  # pyright: ignore[reportArgumentType]  documented: an import of it fails
    try:
        yield
    finally:
        sys.modules.pop("jax", None)


@contextlib.contextmanager
def _standard_error_captured():
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(shown, kept.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
