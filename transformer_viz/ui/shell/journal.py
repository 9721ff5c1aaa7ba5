"""The log of the app: visits of pages with duration and outcome; never texts of visitors."""

import contextlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

import streamlit as st

from transformer_viz.training.runs.listing import runs_folder
from transformer_viz.ui.shell.session import visitor

MAX_BYTES, KEPT = 1_000_000, 3
"""Size in bytes at which the log is rotated, and number of old logs kept."""

_LOG = logging.getLogger("transformer_viz.app")


def log_place() -> Path | None:
    """Return the log file: TRANSFORMER_VIZ_LOG, or `app.log` beside the runs; None if it is "-"."""
    chosen = os.environ.get("TRANSFORMER_VIZ_LOG")
    return None if chosen == "-" else Path(chosen or runs_folder() / "app.log")


def open_log() -> None:
    """Open the log file; if it cannot be written, log to standard error."""
    place, handler = log_place(), None
    if place:
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            handler = RotatingFileHandler(place, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8")
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for former in _LOG.handlers[:]:
        _LOG.removeHandler(former)
        former.close()
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False


def note(event: str, *, level: int = logging.INFO, by: str | None = None, **facts: object) -> None:
    """Log an event with the visitor's id and further facts, which must not contain text typed by a person.

    Args:
        event: Its name.
        level: Its level.
        by: Id of the visitor; None: of the session whose script runs.
        **facts: The facts.
    """
    fields = {"visitor": visitor() if by is None else by, **facts}
    _LOG.log(level, "%s %s", event, " ".join(f"{name}={value}" for name, value in fields.items()))


@contextlib.contextmanager
def timed(page: str) -> Iterator[None]:
    """Log the duration and the outcome of a page."""
    begin, end = time.monotonic(), "shown"
    try:
        yield
    except BaseException as error:  # Streamlit ends scripts by exceptions, too
        end = type(error).__name__
        raise
    finally:
        seconds = f"{time.monotonic() - begin:.3f}"
        note("page", page=page, model=st.session_state.get("model", ""), seconds=seconds, end=end)


def frames_of(error: BaseException) -> list[str]:
    """Return the stack of an error, innermost frame last, without values of variables."""
    return [
        f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
