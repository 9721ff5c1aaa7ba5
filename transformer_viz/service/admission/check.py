"""Watched process that checks one model within limits of memory and time."""

import contextlib
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from transformer_viz.language import Phrase
from transformer_viz.service.admission import child
from transformer_viz.service.forking import context
from transformer_viz.store.format import ModelError

POLL_SECONDS = 0.05
"""Interval between two measurements of the process."""

MAX_WAIT_FACTOR = 6
"""Wall time of a stage as a multiple of its seconds while other processes occupy the cores."""


NAME = "admission"
"""Name of the checking process."""

MODEL_STAGES = ("unpack", "run")
"""Stages of a check that process the model."""

MEMORY_REFUSED = tuple(-getattr(signal, name) for name in ("SIGKILL", "SIGABRT") if hasattr(signal, name))
"""Exit codes of a process out of memory: killed by the system, or aborted by a library."""


class Limits(NamedTuple):
    """Limits of the check of one model.

    Attributes:
        memory: Bytes beyond those of the interpreter and, when the model is run, of TensorFlow.
        run_seconds: For building the model and running it once.
        unpack_seconds: For unpacking it and checking every file.
        load_seconds: For starting the interpreter, or TensorFlow.
    """

    memory: int = 1_000_000_000
    run_seconds: float = 10
    unpack_seconds: float = 30
    load_seconds: float = 60


LIMITS = Limits()


class Check:
    """Context manager for the checking process.

    Args:
        packed: Path of the zip.
        place: Empty folder for the files of the model.
        limits: Limits of the check.
        progress: Called with each stage as it begins.
    """

    def __init__(self, packed: Path, place: Path, limits: Limits, progress: Callable[[str], None]):
        self._request = {"zip": str(packed), "place": str(place.resolve()), **limits._asdict()}
        self._limits, self._progress = limits, progress
        self._stage, self._most_memory, self._seconds = "start", None, limits.load_seconds
        self._began, self._spent = time.monotonic(), 0.0

    def __enter__(self):
        self._pipe, end = context().Pipe()
        started = {"target": child.main, "args": (end, self._request), "name": NAME, "daemon": True}
        self._process = context().Process(**started)
        try:
            self._process.start()
        except OSError as error:
            raise ModelError("check.start", reason=error.strerror) from None
        finally:
            end.close()  # the process has its own: when it ends, so does the pipe
        return self

    def __exit__(self, *error):
        with contextlib.suppress(psutil.Error, OSError):
            for each in psutil.Process(self._process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    each.kill()
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def until(self, stage: str) -> dict:
        """Wait for a stage and return its message; "done": for the end.

        Raises:
            ModelError: If the model is refused, or the process exceeds a limit or ends.
        """
        while True:
            answer = self._next_answer()
            if "error" in answer:
                raise self._refusal(answer["error"])
            self._begin_stage(answer)
            if self._stage == stage:
                return answer

    def _refusal(self, content):
        """Return the error that the process reported, without the path of its folder."""
        with contextlib.suppress(ValueError):
            place = Path(self._request["place"])
            return ModelError.from_json(content).renamed(str(place), place.name)
        return ModelError("check.ended")

    def _next_answer(self):
        while not self._pipe.poll(POLL_SECONDS):
            self._check_usage()
        try:
            return json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            raise self._exit_problem() from None

    def _begin_stage(self, answer):
        self._stage, memory = answer["stage"], answer.get("memory")
        self._most_memory = None if memory is None else memory + self._limits.memory
        self._seconds = getattr(self._limits, f"{self._stage}_seconds", 0)
        self._began, self._spent = time.monotonic(), self._processor_seconds()
        if self._stage != "done":
            self._progress(self._stage)

    def _check_usage(self):
        """Refuse the model if its check exceeds a limit."""
        waited = time.monotonic() - self._began
        if waited > self._seconds:
            worked = self._processor_seconds() - self._spent
            if worked > self._seconds or waited > MAX_WAIT_FACTOR * self._seconds:
                raise self._too_slow()
        with contextlib.suppress(psutil.Error, OSError):
            memory = psutil.Process(self._process.pid).memory_info().rss
            if self._most_memory is not None and memory > self._most_memory:
                raise child.too_much_memory(self._limits.memory, self._stage)

    def _processor_seconds(self):
        with contextlib.suppress(psutil.Error, OSError):
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system
        return self._spent

    def _exit_problem(self):
        """Return the error for a process that ended without a message."""
        self._process.join()
        code = self._process.exitcode
        if code == -getattr(signal, "SIGXCPU", 0):
            return self._too_slow()
        if self._stage not in MODEL_STAGES or not code:
            return ModelError("check.ended")
        if code in MEMORY_REFUSED:
            return child.too_much_memory(self._limits.memory, self._stage)
        how = Phrase("check.signal", number=-code) if code < 0 else Phrase("check.exit", number=code)
        return ModelError(f"check.crash.{self._stage}", how=how)

    def _too_slow(self):
        if self._stage in MODEL_STAGES:
            return ModelError(f"check.slow.{self._stage}", seconds=self._seconds)
        return ModelError("check.late")
