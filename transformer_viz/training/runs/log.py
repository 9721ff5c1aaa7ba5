"""Reading of logs: each is read again when it has changed, and of a huge one only its beginning and end."""

import functools
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from transformer_viz.training.runs.events import parse_event

MOST_BYTES = 8 * 2**20
"""Most bytes read of a log: a quarter from its beginning, the rest from its end."""

MOST_LOGS, MOST_OUTLINES = 20, 10_000
"""Cached logs, and cached outlines."""

TURNS = ("queued", "started", "finished", "stopped", "failed")
"""Events that determine the status of a run."""

_TURN = re.compile(rb'"event":\s*"(?:%s)"' % "|".join(TURNS).encode())


class Log(NamedTuple):
    """Content of a log.

    Attributes:
        events: In order; shared between callers, so not to be changed.
        is_whole: Whether all of it was read.
    """

    events: list[dict]
    is_whole: bool


class Outline(NamedTuple):
    """The part of a log that the order of the queue depends on.

    Attributes:
        last: Name of the last event among `TURNS`; "" if there is none.
        last_worked: Time at which a process last started or ended work on the run; 0 if never.
    """

    last: str
    last_worked: float


def read_log(path: Path) -> Log:
    """Return the content of a log; empty if it cannot be read."""
    try:
        return _log(path, file_stamp(path))
    except OSError:  # not cached: reading may succeed the next time
        return Log([], is_whole=True)


def read_outline(path: Path) -> Outline:
    """Return the outline of a log; empty if it cannot be read."""
    try:
        return _outline(path, file_stamp(path))
    except OSError:
        return Outline("", 0.0)


def file_stamp(path: Path) -> tuple:
    """Return a value that identifies a regular file and its version; () if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    is_file = stat.S_ISREG(found.st_mode)  # reading a pipe might never end
    return (found.st_ino, found.st_size, found.st_mtime_ns) if is_file else ()


@functools.lru_cache(maxsize=MOST_LOGS)
def _log(path, stamp):
    return Log(_events(_lines(path, stamp)), not stamp or stamp[1] <= MOST_BYTES)


@functools.lru_cache(maxsize=MOST_OUTLINES)
def _outline(path, stamp):
    found = _events(line for line in _lines(path, stamp) if _TURN.search(line))
    turns = [event for event in found if event["event"] in TURNS]
    before = [None, *(event["event"] for event in turns)]
    worked = [
        event["time"]
        for event, previous in zip(turns, before, strict=False)
        if event["event"] != "queued" and (event["event"], previous) != ("stopped", "queued")
    ]
    return Outline(turns[-1]["event"] if turns else "", max(worked, default=0.0))


def _lines(path, stamp):
    """Return the lines of a file that has this stamp; [] if there is none."""
    if not stamp:
        return []
    with open(path, "rb") as file:
        data, left_out = file.read(MOST_BYTES), stamp[1] - MOST_BYTES
        if left_out > 0:
            first = MOST_BYTES // 4
            file.seek(first + left_out)
            data = data[:first] + b"\n" + file.read(MOST_BYTES - first)
    return data.split(b"\n")


def _events(lines):
    return [event for event in map(parse_event, filter(None, lines)) if event]
