"""From an uploaded zip to a model on the shelf, if a process of its own could read and run it.

The app itself never parses such a zip. The checking process has limits of memory and time; it is ended when
it exceeds them, when the caller gives up, and with this process.
"""

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from transformer_viz.language import Phrase, Problem
from transformer_viz.network.config import UNK_ID
from transformer_viz.network.startup import import_with_keras
from transformer_viz.service.forking import context
from transformer_viz.store.folders import existing_folder, move, sweep, sync_folder, temporary_in
from transformer_viz.store.format import ModelError, disk_errors, hidden_model, printable
from transformer_viz.store.names import is_name
from transformer_viz.store.pack import unpack_into
from transformer_viz.store.places import command, folder_of_models
from transformer_viz.store.quota import QuotaLike, bytes_in, check_quota, check_space
from transformer_viz.store.write import check_target
from transformer_viz.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformer_viz.explorer.explorer import Explorer

PATIENCE = 300
"""Seconds to wait while other models are checked, one at a time, and while TensorFlow starts."""

LOOK_SECONDS = 0.05
"""Interval between two looks at what the process takes."""

NAME = "admission"
"""Name of the checking process."""

MODEL_STAGES = ("unpack", "run")
"""Stages of a check that process the model."""

MEMORY_REFUSED = tuple(-getattr(signal, name) for name in ("SIGKILL", "SIGABRT") if hasattr(signal, name))
"""Exit codes of a process out of memory: killed by the system, or aborted by a library."""

PROBE = 20_000
"""Characters of the texts with which tokenizers are tested."""

PROBES = ("word ", "a", " ", "中", "é", "!", "1", "\n")
"""Strings that are repeated to form these texts."""

_ONE_AT_A_TIME = threading.Lock()


class Limits(NamedTuple):
    """Limits of the check of one model.

    Attributes:
        memory: Bytes beyond those of TensorFlow.
        seconds: For reading the model, and as many for running it.
    """

    memory: int = 1_000_000_000
    seconds: float = 60


class UnfitNameError(ModelError):
    """The model's name is taken or invalid; the model itself has not been refused.

    Attributes:
        name: The name.
    """

    def __init__(self, error: ModelError, name: str):
        super().__init__(error.code, **error.facts)
        self.name = name


def admit_model(
    data: bytes | memoryview | Path,
    *,
    name: str | None = None,
    folder: Path | None = None,
    quota: QuotaLike = None,
    limits: Limits = Limits(),  # noqa: B008  a tuple
    progress: Callable[[str], object] = lambda stage: None,
) -> str:
    """Store an uploaded model if it is complete, safe and within the limits.

    Args:
        data: The zip, or its path.
        name: Name of the model; None: as in the zip.
        folder: Folder of models; None: `models_folder()`. Created if necessary.
        quota: As in `write_model`.
        limits: Limits of the check.
        progress: Called with "wait", "load", "unpack" and "run" when these stages begin.

    Returns:
        The model's name.

    Raises:
        UnfitNameError: If the name is invalid or taken.
        ModelError: If the model is refused; says why.
    """
    folder = folder_of_models(folder)
    target = folder / (name or "upload")
    with _turn(progress), _hidden_folder(folder) as place:
        packed = _zip_of(data, place, target, quota)
        with contextlib.closing(_check(packed, place / "model", limits)) as stages:
            for stage, inner in stages:
                progress(stage)
                if stage == "run":
                    target = _free_place(inner if name is None else name, folder)
        check_quota(target, bytes_in(place / "model"), quota, without=place)
        with disk_errors(target, "written"):
            sync_folder(place / "model")
            move(place / "model", _free_place(target.name, folder))
    return target.name


@contextlib.contextmanager
def _turn(progress):
    """Wait until no other model is being checked."""
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        progress("wait")
        if not _ONE_AT_A_TIME.acquire(timeout=PATIENCE):
            raise ModelError("check.queue")
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()


@contextlib.contextmanager
def _hidden_folder(folder):
    """Yield a hidden folder and remove it at the end; if this process is killed, `sweep` removes it."""
    place = temporary_in(folder)
    try:
        with disk_errors(folder, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            sweep(folder)
            place.mkdir(mode=0o700)
            (place / "model").mkdir()
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _zip_of(data, place, target, quota):
    """Return the path of the zip, writing bytes to a file."""
    if isinstance(data, Path):
        return data.resolve()
    check_quota(target, len(data), quota, without=place)
    with disk_errors(target, "written"):
        check_space(target, 3 * len(data))
        with (place / "model.zip").open("xb") as stream:
            stream.write(data)
    return (place / "model.zip").resolve()


def _free_place(name, folder):
    """Return the path for a model of that name, having checked that it is free."""
    target = folder / name
    is_taken = os.path.lexists(target) or existing_folder(target) or hidden_model(target)
    try:
        return check_target(name, folder=folder)
    except ModelError as error:
        is_unfit = is_taken or not is_name(name)
        raise (UnfitNameError(error, name) if is_unfit else error) from None


def _check(packed: Path, place: Path, limits: Limits) -> Generator[tuple[str, str]]:
    """Yield each stage of a check as it begins, with the model's name in the zip once it is known.

    Args:
        packed: Path of the zip.
        place: Empty folder for the files of the model.
        limits: Limits of the check.

    Raises:
        ModelError: If the model is refused, or the process exceeds a limit or ends.
    """
    place = place.resolve()
    pipe, end = context().Pipe()
    started = {"target": _check_here, "args": (end, packed, place, limits.memory), "name": NAME}
    process = context().Process(**started, daemon=True)
    try:
        process.start()
    except OSError as error:
        raise ModelError("check.start", reason=error.strerror) from None
    finally:
        end.close()  # the process has its own: when it ends, so does the pipe
    try:
        for answer in _answers(pipe, process, limits):
            if "error" in answer:
                raise ModelError.from_json(answer["error"]).renamed(str(place), place.name)
            yield answer["stage"], answer.get("name", "")
    finally:
        process.kill()
        process.join()
        pipe.close()


def _answers(pipe, process, limits):
    """Yield what the process reports until it is done, having checked meanwhile what it takes."""
    stage, memory, deadline = "start", 0, time.monotonic() + PATIENCE
    while True:
        while not pipe.poll(LOOK_SECONDS):
            if time.monotonic() > deadline:
                raise _too_slow(stage, limits.seconds)
            if stage in MODEL_STAGES and _memory(process.pid) > memory + limits.memory:
                raise _too_much_memory(limits.memory, stage)
        try:
            answer = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            raise _exit_problem(process, stage, limits.memory) from None
        if answer.get("stage") == "done":
            return
        yield answer
        stage, memory = answer["stage"], answer.get("memory", memory)
        deadline = time.monotonic() + (limits.seconds if stage in MODEL_STAGES else PATIENCE)


def _memory(pid):
    """Return the bytes that a process takes; 0 if it has ended."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0


def _exit_problem(process, stage, memory):
    """Return the error for a process that ended without a message."""
    process.join()
    code = process.exitcode
    if stage not in MODEL_STAGES or not code:
        return ModelError("check.ended")
    if code in MEMORY_REFUSED:
        return _too_much_memory(memory, stage)
    how = Phrase("check.signal", number=-code) if code < 0 else Phrase("check.exit", number=code)
    return ModelError(f"check.crash.{stage}", how=how)


def _too_slow(stage, seconds):
    if stage in MODEL_STAGES:
        return ModelError(f"check.slow.{stage}", seconds=seconds)
    return ModelError("check.late")


def _too_much_memory(limit, stage):
    return ModelError(f"check.memory.{stage}", limit=limit / 1e9)


def _check_here(pipe: Connection, packed: Path, place: Path, memory: int) -> None:
    """Check a model in this process, which ends with it, and report each stage as it begins.

    Args:
        pipe: To the parent, as bytes of JSON, which cannot do anything there.
        packed: Path of the zip.
        place: Empty folder for the files of the model.
        memory: Limit of memory, for the message.
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
        report(stage="load")
        try:
            load = import_with_keras("store.load").load
        except Exception as error:
            kind = type(error).__name__
            raise ModelError("check.tensorflow", kind=kind, command=command()) from None
        report(stage="unpack", memory=_memory(os.getpid()))
        inner = unpack_into(packed, place)
        for file in place.glob("tokenizer*.json"):
            Tokenizer.from_json(file.read_text(encoding="utf-8"))
        report(stage="run", name=inner)
        try:
            _run_longest(load(place))
        except ModelError as error:
            raise error.renamed(str(place), inner) from None
        report(stage="done")
    except Exception as error:  # a hostile model may make a library raise anything
        report(error=_problem_of(error, memory, stages[-1]).to_json())
    os._exit(0)  # a thread still waits for the parent; nothing needs cleaning up


def _run_longest(explorer: "Explorer") -> None:
    """Run a model once on its longest text and target, let it write a token, and test its tokenizers."""
    config, target = explorer.config, explorer.target_tokenizer
    ids = [UNK_ID] * (config.max_len - (not config.has_encoder))  # [START] needs a position too
    target_ids = [UNK_ID] * ((config.target_max_len or config.max_len) - 1)
    explorer.trace(ids, target=None if target is None else target_ids)
    if config.has_decoder:
        explorer.generate(ids, max_new=1, keep=None)
    for probe in PROBES:
        for tokenizer in filter(None, (explorer.tokenizer, target)):
            tokenizer.encode(probe * (PROBE // len(probe)))


def _problem_of(error, memory, stage):
    """Return the error to report for an exception in a stage."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return _too_much_memory(memory, stage)
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return ModelError(printable(error))
    return ModelError(f"check.failed.{stage}", kind=type(error).__name__)


def _end_with_parent(pipe):
    """Exit when the pipe closes: the parent has ended, or gives the check up."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)
