"""The process that checks one model, watched: how much memory and time it takes, and that it ends."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from transformer_viz.language import Phrase
from transformer_viz.store.format import ModelError
from transformer_viz.store.places import PACKAGE

POLL_SECONDS = 0.05
"""Seconds between two looks at the memory of the process."""

MAX_WAIT_FACTOR = 6
"""How many times its seconds a stage may take while other processes keep the cores from it."""


MODEL_STAGES = ("unpack", "run")
"""Stages of a check in which something is done with the model."""

MEMORY_REFUSED = tuple(-getattr(signal, name) for name in ("SIGKILL", "SIGABRT") if hasattr(signal, name))
"""Exit codes of a process that ran out of memory: killed by the system, or aborted by a library."""


class Limits(NamedTuple):
    """What the check of one model may take.

    Attributes:
        memory: Bytes beyond what the interpreter takes alone and, when the model is run, TensorFlow.
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
    """One such process, which ends with the block.

    Args:
        packed: Path of the zip.
        place: Empty folder for the files of the model.
        limits: What the check may take.
        progress: Called with each stage as it begins.
    """

    def __init__(self, packed: Path, place: Path, limits: Limits, progress: Callable[[str], None]):
        self._request = {"zip": str(packed), "place": str(place.resolve()), **limits._asdict()}
        self._limits, self._progress = limits, progress
        self._lines = queue.Queue()
        self._stage, self._most_memory, self._seconds = "start", None, limits.load_seconds
        self._began, self._spent = time.monotonic(), 0.0

    def __enter__(self):
        paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        hidden = {"CUDA_VISIBLE_DEVICES": "-1"}  # a GPU is for those who look into models
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "transformer_viz.service.admission"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | hidden | {"PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # Ctrl-C is for the parent
            )
        except OSError as error:
            raise ModelError("check.start", reason=error.strerror) from None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        with contextlib.suppress(OSError):  # it has died already: seen when it is asked
            self._process.stdin.write(json.dumps(self._request).encode() + b"\n")
            self._process.stdin.flush()
        return self

    def __exit__(self, *error):
        with contextlib.suppress(psutil.Error, OSError):
            for child in psutil.Process(self._process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    child.kill()
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def until(self, stage: str) -> dict:
        """Wait for a stage to begin and return what was said of it; "done": for the end.

        Raises:
            ModelError: If the model is refused, or the process takes too much or ends.
        """
        while True:
            answer = self._next_answer()
            if "error" in answer:
                raise self._refusal(answer["error"])
            self._begin_stage(answer)
            if self._stage == stage:
                return answer

    def _refusal(self, content):
        """Return what the process found wrong, without the path of its folder."""
        with contextlib.suppress(ValueError):
            place = Path(self._request["place"])
            return ModelError.from_json(content).renamed(str(place), place.name)
        return ModelError("check.ended")

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _next_answer(self):
        while True:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=POLL_SECONDS)
                if line is None:
                    raise self._exit_problem()
                return json.loads(line)
            self._check_usage()

    def _begin_stage(self, answer):
        self._stage, memory = answer["stage"], answer.get("memory")
        self._most_memory = None if memory is None else memory + self._limits.memory
        self._seconds = getattr(self._limits, f"{self._stage}_seconds", 0)
        self._began, self._spent = time.monotonic(), self._processor_seconds()
        if self._stage != "done":
            self._progress(self._stage)

    def _check_usage(self):
        """Refuse the model if its check takes too much."""
        waited = time.monotonic() - self._began
        if waited > self._seconds:
            worked = self._processor_seconds() - self._spent
            if worked > self._seconds or waited > MAX_WAIT_FACTOR * self._seconds:
                raise self._too_slow()
        with contextlib.suppress(psutil.Error, OSError):
            memory = psutil.Process(self._process.pid).memory_info().rss
            if self._most_memory is not None and memory > self._most_memory:
                raise too_much_memory(self._limits.memory, self._stage)

    def _processor_seconds(self):
        with contextlib.suppress(psutil.Error, OSError):
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system
        return self._spent

    def _exit_problem(self):
        """Return what is wrong where the process has ended without a word."""
        code = self._process.wait()
        if code == -getattr(signal, "SIGXCPU", 0):
            return self._too_slow()
        if self._stage not in MODEL_STAGES or not code:
            return ModelError("check.ended")
        if code in MEMORY_REFUSED:
            return too_much_memory(self._limits.memory, self._stage)
        how = Phrase("check.signal", number=-code) if code < 0 else Phrase("check.exit", number=code)
        return ModelError(f"check.crash.{self._stage}", how=how)

    def _too_slow(self):
        if self._stage in MODEL_STAGES:
            return ModelError(f"check.slow.{self._stage}", seconds=self._seconds)
        return ModelError("check.late")


def too_much_memory(limit: int, stage: str) -> ModelError:
    """Return what is wrong with a model that takes more memory than that many bytes, in "unpack" or "run"."""
    return ModelError(f"check.memory.{stage}", limit=limit / 1e9)
