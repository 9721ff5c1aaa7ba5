"""Errors of a training as the log reports them."""

import tensorflow as tf

from transformer_viz.language import Problem
from transformer_viz.training.runs.errors import FULL, RunError, UnwritableError
from transformer_viz.training.runs.folder import TrainingRun


def explained(error: Exception, run: TrainingRun) -> Problem:
    """Return the error to report: what went wrong and how to fix it."""
    if isinstance(error, OSError) and str(error.filename or "").startswith(str(run.path)):
        error = UnwritableError(run.path, error)
    if (isinstance(error, OSError) and error.errno in FULL) or getattr(error, "cause", "") == "full":
        return RunError("training.full", place=run.path)
    if isinstance(error, tf.errors.UnavailableError | tf.errors.AbortedError | tf.errors.CancelledError):
        return RunError("training.machine_gone")
    if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
        return RunError("training.memory")
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError) and str(error):
        return RunError(str(error))
    return RunError("training.unexpected", kind=type(error).__name__, file=run.path / "traceback.txt")
