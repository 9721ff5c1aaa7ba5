"""The log of a run: one JSON event per line in ASCII, append-only.

Invalid lines are skipped: half a line of a killed process, events of other versions, manual edits.
"""

import contextlib
import json
import math
import os
import time
from pathlib import Path

from transformer_viz.data import BadRows
from transformer_viz.language import Problem

_DECODER = json.JSONDecoder(parse_constant=lambda _: None)

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


def append_event(path: Path, event: str, **facts: object) -> None:
    """Append an event with its time to a log; a number that is not finite becomes null.

    Raises:
        OSError: If the line cannot be written; a partial line is removed.
    """
    line = json.dumps({"event": event, "time": time.time(), **dict(map(_finite, facts.items()))})
    handle = os.open(path, _FLAGS, 0o600)
    try:
        end = os.lseek(handle, 0, os.SEEK_END)
        os.lseek(handle, max(0, end - 1), os.SEEK_SET)
        whole = os.read(handle, 1) in (b"", b"\n")  # a killed process may have left half a line
        data = (b"" if whole else b"\n") + line.encode("ascii") + b"\n"
        written = 0
        try:
            while written < len(data):
                written += os.write(handle, data[written:])
        except OSError:
            with contextlib.suppress(OSError):
                if os.fstat(handle).st_size == end + written:  # no other process has appended meanwhile
                    os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)


def parse_event(line: bytes) -> dict | None:
    """Return the event on a line, None for an invalid line; a number that is not finite becomes None."""
    try:
        event = _DECODER.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    kind: str = event["event"]
    event = dict(map(_finite, event.items()))
    needed = _NEEDED.get(kind)
    if needed is None or not needed <= event.keys() or not all(map(_fits, event, event.values())):
        return None
    measured = event.keys() - _FITS.keys() if kind in _MEASURED else ()
    return event if all(_is_number(event[name]) for name in measured) else None


def _finite(fact):
    name, value = fact
    return name, None if isinstance(value, float) and not math.isfinite(value) else value


def _is_count(value):
    return type(value) is int and 0 <= value < 2**53


def _is_number(value):
    return value is None or (type(value) in (int, float) and abs(value) < 2**1000)


def _is_text(value):
    return isinstance(value, str)


def _is_time(value):
    return type(value) in (int, float) and 0 <= value < 2**53


def _are_samples(value):
    """Return whether a value is a list of samples: text, expected and written."""
    names = ("text", "expected", "written")
    return isinstance(value, list) and all(
        isinstance(sample, dict) and all(isinstance(sample.get(name), str) for name in names)
        for sample in value
    )


def _is_problem(value):
    return _can_be(Problem, value)


def _are_bad_rows(value):
    return isinstance(value, list) and all(_can_be(BadRows, each) for each in value)


def _can_be(kind, value):
    try:
        kind.from_json(value)
    except ValueError:
        return False
    return True


_NEEDED = {
    "queued": {"time"},
    "started": {"time", "step"},
    "data": {"time"},
    "step": {"time", "step"},
    "epoch": {"time", "step", "epoch", "best"},
    "samples": {"time", "samples"},
    "full": {"time", "step"},
    "finished": {"time"},
    "stopped": {"time"},
    "failed": {"time"},
}
"""Kind of event -> required fields."""

_MEASURED = ("step", "epoch")
"""Kinds of events whose other fields are metrics, hence numbers."""

_FITS = {
    "event": _is_text,
    "time": _is_time,
    "step": _is_count,
    "epoch": _is_count,
    "best": lambda value: isinstance(value, bool),
    "device": _is_text,
    "message": _is_text,
    "problem": _is_problem,
    "model": _is_text,
    "note": _is_text,
    "left_out": _are_bad_rows,
    "samples": _are_samples,
    **dict.fromkeys(("train", "validation", "parameters", "steps_per_epoch", "total_steps"), _is_count),
}
"""Field -> whether a value is valid; of all other fields only metrics are checked."""


def _fits(name, value):
    return _FITS[name](value) if name in _FITS else True
