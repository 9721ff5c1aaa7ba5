"""Incremental, cached reading of logs: each line is parsed once, and of a huge log only a part."""

import os
import stat
import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from transformer_viz.training.runs.events import parse_event

MOST_BYTES, MOST_LINES = 8 * 2**20, 100_000
"""Most bytes and lines read of a log's new part: a quarter from its beginning, the rest from its end."""

MOST_EVENTS = 5_000
"""Most events kept of a log; beyond that, every second step is dropped."""

LAST = 50
"""Events at the end that are never dropped: the remaining time is estimated from them."""

TAIL = 2**12
"""Bytes at the end of a log that usually hold its final event; otherwise the whole log is read."""

MOST_READERS, MOST_OUTLINES = 20, 10_000
"""Cached logs, and cached outlines."""

TURNS = ("queued", "started", "finished", "stopped", "failed")
"""Events that determine the status of a run."""


class Log(NamedTuple):
    """Content of a log.

    Attributes:
        events: In order; shared between callers, so not to be changed.
        is_whole: Whether no event was dropped.
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
    with _lock:
        reader = _up_to_date(path)
        return Log(reader.events + reader.half, reader.is_whole)


def read_outline(path: Path) -> Outline:
    """Return the outline of a log, cached until the log changes."""
    with _lock:
        stamp = file_stamp(path)
        known, outline = _outlines.pop(path, (None, None))
        if known != stamp or outline is None:
            try:
                outline = _outline(_tail(path, stamp))
            except OSError:  # reading may succeed the next time
                return Outline("", 0.0)
            if not outline.last_worked and stamp and stamp[1] > TAIL:  # the turn began before the tail
                outline = _outline(_up_to_date(path).events)
        _outlines[path] = stamp, outline
        while len(_outlines) > MOST_OUTLINES:
            _outlines.popitem(last=False)
        return outline


def file_stamp(path: Path) -> tuple:
    """Return a value that identifies a regular file and its version; () if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    is_file = stat.S_ISREG(found.st_mode)  # reading a pipe might never end
    return (found.st_ino, found.st_size, found.st_mtime_ns) if is_file else ()


class _Reader:
    """Incremental reader of one log.

    Attributes:
        stamp: `file_stamp` at the last read; () if it could not be read.
        end: Bytes up to the end of the last complete line.
        events: Events on complete lines.
        half: The event on an incomplete last line, in a list; [] if there is none.
        is_whole: Whether no event was dropped.
    """

    def __init__(self):
        self.stamp, self.end = (), 0
        self.events, self.half = [], []
        self.is_whole = True

    def read_on(self, path, stamp):
        """Read the part of a file, which has this stamp, that is new."""
        with open(path, "rb") as file:
            data, is_all = _between(file, self.end, stamp[1])
        *lines, last = data.split(b"\n")
        if len(lines) > MOST_LINES:
            lines, is_all = lines[: MOST_LINES // 4] + lines[-3 * MOST_LINES // 4 :], False
        self.events += _events(lines)
        self.half = _events([last])
        self.end, self.stamp = stamp[1] - len(last), stamp
        self.is_whole &= is_all
        while len(self.events) > MOST_EVENTS:
            self._thin()

    def _thin(self):
        """Drop every second step; without steps, the oldest events."""
        before, last = self.events[:-LAST], self.events[-LAST:]
        steps = [number for number, event in enumerate(before) if event["event"] == "step"]
        left_out = set(steps[1::2])
        kept = [event for number, event in enumerate(before) if number not in left_out]
        self.events = (kept if left_out else kept[-MOST_EVENTS // 2 :]) + last
        self.is_whole = False


_lock = threading.Lock()
_readers: OrderedDict[Path, _Reader] = OrderedDict()
_outlines: OrderedDict[Path, tuple[tuple, Outline]] = OrderedDict()


def _up_to_date(path):
    """Return the reader of a log, having read its new part."""
    stamp, reader = file_stamp(path), _readers.pop(path, None) or _Reader()
    if stamp[:1] != reader.stamp[:1] or (stamp and stamp[1] < reader.end):  # replaced or truncated
        reader = _Reader()
    if stamp and stamp != reader.stamp:
        try:
            reader.read_on(path, stamp)
        except OSError:
            reader = _Reader()
    _readers[path] = reader
    while len(_readers) > MOST_READERS:
        _readers.popitem(last=False)
    return reader


def _outline(events):
    """Return the outline of some events."""
    turns = [event for event in events if event["event"] in TURNS]
    before = [None, *(event["event"] for event in turns)]
    worked = [
        event["time"]
        for event, previous in zip(turns, before, strict=False)
        if event["event"] != "queued" and (event["event"], previous) != ("stopped", "queued")
    ]
    return Outline(turns[-1]["event"] if turns else "", max(worked, default=0.0))


def _tail(path, stamp):
    """Return the events at the end of a file; [] if there is no file."""
    if not stamp:
        return []
    with open(path, "rb") as file:
        file.seek(max(0, stamp[1] - TAIL))
        return _events(file.read(TAIL).split(b"\n"))


def _between(file, begin, end):
    """Return the bytes of a file between two offsets, and whether none were skipped."""
    file.seek(begin)
    if end - begin <= MOST_BYTES:
        return file.read(end - begin), True
    first = file.read(MOST_BYTES // 4)
    file.seek(end - 3 * MOST_BYTES // 4)
    return first + b"\n" + file.read(3 * MOST_BYTES // 4), False


def _events(lines):
    return [event for event in map(parse_event, lines) if event]
