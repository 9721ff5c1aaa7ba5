"""Code of the process that checks an uploaded model.

It unpacks and checks the zip, builds the model, runs it once on the longest text, and reports {"stage": ...}
when "load", "unpack", "run" and "done" begin, or {"error": ...}. `check` measures it, and ends it when it
exceeds a limit.
"""

import contextlib
import json
import os
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import psutil

from transformer_viz import store
from transformer_viz.language import Problem
from transformer_viz.network.config import UNK_ID, TransformerConfig
from transformer_viz.network.startup import import_with_keras
from transformer_viz.store.format import printable
from transformer_viz.store.pack import unpack_into
from transformer_viz.store.places import command
from transformer_viz.text.tokenizer import Tokenizer

try:
    import resource
except ImportError:  # Windows: only the parent enforces the limits
    resource = None

SLACK = 2**28
"""Bytes beyond the limit that may be reserved but not used: stacks of threads, the allocator's reserve."""

PROBE = 20_000
"""Characters of the texts with which the tokenizer is tested."""

PROBES = ("word ", "a", " ", "中", "é", "!", "1", "\n")
"""Strings that are repeated to form these texts."""


class Runnable(Protocol):
    """The part of `Explorer` that `run_longest` uses: the class itself needs Keras."""

    config: TransformerConfig
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None

    def trace(self, text: Any, **options: Any) -> object:
        """Run the model once."""
        ...

    def generate(self, text: Any, **options: Any) -> object:
        """Let the model write."""
        ...


def main(pipe: Connection, request: dict[str, Any]) -> None:
    """Check a model, and report each stage as it begins.

    Args:
        pipe: To the parent, as bytes of JSON, which cannot do anything there.
        request: Paths "zip" and "place", and the fields of `Limits`.
    """
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)  # libraries may print about a hostile model whatever they like
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # leave the GPU to the app
    threading.Thread(target=_end_with_parent, args=[pipe], daemon=True).start()
    stages = []

    def report(**facts):
        stages.append(facts.get("stage"))
        pipe.send_bytes(json.dumps(facts).encode())

    try:
        _check(request, report)
    except store.ModelError as error:
        report(error=error.to_json())
    except Exception as error:  # a hostile model may make a library raise anything
        report(error=problem_of(error, request["memory"], stages[-1]).to_json())
    else:
        report(stage="done")
    os._exit(0)  # a thread still waits for the parent; nothing needs cleaning up


def _check(request, report):
    """Go through the stages, reporting each with the current memory."""
    memory, place = request["memory"], Path(request["place"])
    report(stage="load")
    try:
        load = import_with_keras("store.load").load
    except Exception as error:
        raise store.ModelError("check.tensorflow", kind=type(error).__name__, command=command()) from None
    report(stage="unpack", memory=_memory())
    _limit(memory, request["unpack_seconds"])
    inner = unpack_into(Path(request["zip"]), place)
    for file in place.glob("tokenizer*.json"):
        Tokenizer.from_json(file.read_text(encoding="utf-8"))
    before = _memory()
    report(stage="run", name=inner, memory=before)
    _limit(memory, request["run_seconds"])
    try:
        run_longest(load(place))
    except store.ModelError as error:
        raise error.renamed(str(place), inner) from None
    if _largest_memory() - before > memory:
        raise MemoryError


def run_longest(explorer: Runnable) -> None:
    """Run a model once on its longest text and longest target, generate one token, and test its tokenizers.

    Args:
        explorer: `Explorer`.
    """
    config, target = explorer.config, explorer.target_tokenizer
    ids = [UNK_ID] * (config.max_len - (not config.has_encoder))  # [START] needs a position too
    target_ids = [UNK_ID] * ((config.target_max_len or config.max_len) - 1)
    explorer.trace(ids, **({} if target is None else {"target": target_ids}))
    if config.has_decoder:
        explorer.generate(ids, max_new=1, keep=None)
    for probe in PROBES:
        for tokenizer in filter(None, (explorer.tokenizer, target)):
            tokenizer.encode(probe * (PROBE // len(probe)))


def _limit(memory, seconds):
    """Limit additional memory in bytes and processor time in seconds of this process; None: unlimited."""
    if resource is None:
        return
    used, spent = _reserved(), resource.getrusage(resource.RUSAGE_SELF)
    most = None if memory is None or used is None else used + memory + SLACK
    longest = None
    if seconds is not None:
        longest = int(spent.ru_utime + spent.ru_stime + seconds * (os.cpu_count() or 1)) + 1
    for what, limit in (("RLIMIT_CORE", 0), ("RLIMIT_DATA", most), ("RLIMIT_CPU", longest)):
        _, highest = resource.getrlimit(getattr(resource, what))
        if limit is not None and (highest == resource.RLIM_INFINITY or limit < highest):
            resource.setrlimit(getattr(resource, what), (limit, highest))
        else:
            resource.setrlimit(getattr(resource, what), (highest, highest))


def _reserved():
    """Return the bytes that count towards RLIMIT_DATA; None if unknown."""
    return _status("VmData")


def _status(name):
    """Return a value of /proc/self/status in bytes; None on other systems."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _memory():
    return psutil.Process().memory_info().rss


def _largest_memory():
    """Return the peak memory of this process in bytes.

    On Linux, `ru_maxrss` would include that of the parent before the fork.
    """
    if resource is None:
        return psutil.Process().memory_info().peak_wset
    if peak := _status("VmHWM"):
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def problem_of(error, memory, stage):
    """Return the error to report for an exception in stage "unpack" or "run"."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return too_much_memory(memory, stage)
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return store.ModelError(printable(error))
    return store.ModelError(f"check.failed.{stage}", kind=type(error).__name__)


def too_much_memory(limit: int, stage: str) -> store.ModelError:
    """Return the error for a model that exceeds a limit in bytes, in stage "unpack" or "run"."""
    return store.ModelError(f"check.memory.{stage}", limit=limit / 1e9)


def _end_with_parent(pipe):
    """Exit when the pipe closes: the parent has ended, or gives the check up."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
