"""The check of a model from elsewhere: `python -m transformer_viz.service.admission`, a process of its own.

Reads one line of JSON, as `store.checking` writes it; unpacks and checks the zip, builds the model, runs it
once on the longest text it reads, and writes lines of JSON: {"stage": ...} as "unpack", "load", "run" and
"done" begin, or {"error": ...}. Whoever started it watches, and ends it when it takes too much.
"""

import contextlib
import json
import os
import sys
import threading
from pathlib import Path

import psutil

from transformer_viz import store
from transformer_viz.language import Problem
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.store.checking import too_much_memory
from transformer_viz.store.format import one_line
from transformer_viz.store.pack import unpack_into
from transformer_viz.store.places import command
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.values.config import UNK_ID

try:
    import resource
except ImportError:  # Windows: whoever watches sees to it alone
    resource = None

SLACK = 2**28
"""Bytes beyond the limit that may be reserved, not used: stacks of threads, what an allocator keeps."""

PROBE = 20_000
"""Characters of the texts that the tokenizer is tried on."""

PROBES = ("word ", "a", " ", "中", "é", "!", "1", "\n")
"""What these texts repeat."""


def main() -> None:
    """Check the model that the first line of standard input names."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer

        stages = []

        def tell(**facts):
            stages.append(facts.get("stage"))
            answers.write(json.dumps(facts) + "\n")
            answers.flush()

        request = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_parent, daemon=True).start()
        try:
            _check(request, tell)
        except store.ModelError as error:
            tell(error=error.to_json())
        except Exception as error:  # whatever a hostile model makes a library raise
            problem = _problem(error, request["memory"], "run" if "load" in stages else "unpack")
            tell(error=problem.to_json())
        else:
            tell(stage="done")
    os._exit(0)  # standard input is still waited for, and nothing is left to tidy up


def _check(request, tell):
    """Go through the stages, telling of each as it begins, with the memory it begins with."""
    memory, place = request["memory"], Path(request["place"])
    tell(stage="unpack", memory=_memory())
    _limit(memory, request["unpack_seconds"])
    inner = unpack_into(Path(request["zip"]), place)
    for file in place.glob("tokenizer*.json"):
        Tokenizer.from_json(file.read_text(encoding="utf-8"))
    tell(stage="load", name=inner)
    _limit(None, None)
    try:
        explorer = load_upper_floor("inspection.explorer")
    except Exception as error:
        raise store.ModelError("check.tensorflow", kind=type(error).__name__, command=command()) from None
    before = _memory()
    tell(stage="run", memory=before)
    _limit(memory, request["run_seconds"])
    try:
        run_longest(explorer.load(place))
    except store.ModelError as error:
        raise error.renamed(str(place), inner) from None
    if _largest_memory() - before > memory:
        raise MemoryError


def run_longest(explorer) -> None:
    """Run a model once on the longest text it reads, with the longest target, and let it write one token.

    Args:
        explorer: `Explorer`.
    """
    config, target = explorer.config, explorer.target_tokenizer
    ids = [UNK_ID] * (config.max_len - (not config.has_encoder))  # [START] needs a position too
    explorer.trace(ids, **({} if target is None else {"target": [UNK_ID] * (config.target_max_len - 1)}))
    if config.has_decoder:
        explorer.generate(ids, max_new=1, keep=None)
    for probe in PROBES:
        for tokenizer in filter(None, (explorer.tokenizer, target)):
            tokenizer.encode(probe * (PROBE // len(probe)), max_len=config.max_len)


def _limit(memory, seconds):
    """Let the system end this process beyond that much more memory and processor time; None: as it may."""
    if resource is None:
        return
    used, spent = _reserved(), resource.getrusage(resource.RUSAGE_SELF)
    most = None if memory is None or used is None else used + memory + SLACK
    longest = None
    if seconds is not None:
        longest = int(spent.ru_utime + spent.ru_stime + seconds * os.cpu_count()) + 1
    for what, limit in (("RLIMIT_CORE", 0), ("RLIMIT_DATA", most), ("RLIMIT_CPU", longest)):
        _, highest = resource.getrlimit(getattr(resource, what))
        is_lower = limit is not None and (highest == resource.RLIM_INFINITY or limit < highest)
        resource.setrlimit(getattr(resource, what), (limit if is_lower else highest, highest))


def _reserved():
    """Return the bytes that count for RLIMIT_DATA; None where the system does not say."""
    return _status("VmData")


def _status(name):
    """Return in bytes what Linux says of this process; None on another system."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _memory():
    return psutil.Process().memory_info().rss


def _largest_memory():
    """Return the most memory this process ever had, in bytes.

    Linux counts in `ru_maxrss` what the process that started this one had, too.
    """
    if resource is None:
        return psutil.Process().memory_info().peak_wset
    if peak := _status("VmHWM"):
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _problem(error, memory, stage):
    """Return what is wrong where an error came up that no check foresaw, in "unpack" or "run"."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return too_much_memory(memory, stage)
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return store.ModelError(one_line(error))
    return store.ModelError(f"check.failed.{stage}", kind=type(error).__name__)


def _end_with_parent():
    """End when standard input does: whoever started this process is gone."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
