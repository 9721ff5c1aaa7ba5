"""Imports Keras when imported itself: in the process from which the children of the engine are forked."""

import contextlib

from transformer_viz.service.engine.child import import_keras

with contextlib.suppress(Exception):  # the children try again, and report what is wrong
    import_keras()
