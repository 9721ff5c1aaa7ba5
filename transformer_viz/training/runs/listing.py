"""Folders of runs: create, list, queue and order them."""

import collections
import contextlib
import dataclasses
import datetime
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from transformer_viz import store
from transformer_viz.language import Problem
from transformer_viz.lessons.lesson import Lesson
from transformer_viz.network.fine_tuning import inherited
from transformer_viz.store.folders import new_folder, write_flushed
from transformer_viz.store.names import is_name, name_from
from transformer_viz.store.places import command, data_folder
from transformer_viz.store.quota import Quota, bytes_in
from transformer_viz.training.runs.errors import BusyError, RunError, write_errors
from transformer_viz.training.runs.events import append_event
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import LOWER_IS_BETTER, TrainingJob
from transformer_viz.training.runs.quota import DiskUse, check_quota

SIGNS = ("job.json", "events.jsonl", "checkpoint.safetensors")
"""Files that identify the folder of a run, valid or broken."""

WATCHED = {"probes": (), "frame_steps": 0, "card": {}, "out": "", "overwrite": False}
"""Fields of a job that have no influence on the training -> the value with which jobs are compared."""

LONGEST_TITLE = 24
"""Characters of the longest title in the id of a run."""

QUOTA = Quota(total=20 * 10**9, owner=400 * 10**6)
"""Bytes for all runs that a server starts, and for those of one owner."""

SETTLED = 2 * 10**9
"""Nanoseconds after which a folder is taken to have got another time by any further change."""

MOST_QUEUED = 60
"""Most runs that wait in a class."""

PRIVATE = 0o700
"""Rights of the folder of a run or an upload: its owner's alone."""

LOCK_SECONDS = 60
"""Longest wait for other processes that add to the queue."""


def runs_folder() -> Path:
    """Return TRANSFORMER_VIZ_RUNS, or `runs/` in `data_folder()`: the checkout, or the user's data folder."""
    return Path(os.environ.get("TRANSFORMER_VIZ_RUNS") or data_folder() / "runs")


def check_runs_folder(folder: str | Path | None = None) -> None:
    """Check that runs can be written, creating their folder if necessary.

    Args:
        folder: Folder of runs; None: `runs_folder()`.

    Raises:
        UnwritableError: If they cannot.
    """
    folder = Path(folder or runs_folder())
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        effective = os.access in os.supports_effective_ids
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def create_run(
    job: TrainingJob,
    *,
    title: str = "",
    folder: str | Path | None = None,
    quota: Quota | None = None,
    one_at_a_time: bool = False,
) -> TrainingRun:
    """Create the folder of a new run, with a copy of the model it is fine-tuned from, and queue it.

    Args:
        job: The requested training.
        title: A word for its id: the task or the file.
        folder: Folder of runs; None: `runs_folder()`.
        quota: Disk quota of all runs; None: unlimited.
        one_at_a_time: Refuse it while another run of its owner is queued or active, or `MOST_QUEUED` are
            queued.

    Raises:
        RunError: If the folder cannot be written, the data file is gone, the job's parent cannot be used,
            the quota is exceeded, the owner has a run already, or too many are queued.
    """
    folder = Path(folder or runs_folder())
    parent = _parent_files(job)
    size = sum(len(each) if isinstance(each, bytes) else each.stat().st_size for each in parent.values())
    if job.sha256 and not os.path.exists(job.data):
        raise RunError("file.gone", path=job.data)
    slug = name_from(title or Path(job.data).stem.split(".")[0], LONGEST_TITLE)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S%f")  # sorts by time of creation
    path = folder / "-".join(filter(None, (stamp, slug, secrets.token_hex(2))))
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        admitted = _admission(job.owner, folder, quota, one_at_a_time, size)
        with admitted, new_folder(path, mode=PRIVATE) as made:
            write_flushed(made / "job.json", job.to_json().encode())
            for name, content in parent.items():
                (made / "parent").mkdir(exist_ok=True)
                if isinstance(content, bytes):
                    write_flushed(made / "parent" / name, content)
                else:
                    shutil.copyfile(content, made / "parent" / name)
            append_event(made / "events.jsonl", "queued")
    return TrainingRun(path)


def queue_run(
    run: TrainingRun, *, restart: bool = False, quota: Quota | None = None, one_at_a_time: bool = False
) -> None:
    """Queue a run again that was stopped, interrupted or has failed.

    Args:
        run: The run.
        restart: Start from the beginning instead of the checkpoint.
        quota: As in `create_run`.
        one_at_a_time: As in `create_run`.

    Raises:
        RunError: If there is nothing to resume, the run cannot be written, the quota is exceeded, or the
            owner has another run.
    """
    folder = run.path.parent
    with write_errors(folder), _admission(run.owner, folder, quota, one_at_a_time):
        if restart:
            run.restart()
        else:
            run.queue()


def run_sizes(folder: Path) -> list[DiskUse]:
    """Return the disk use of each run in a folder."""
    return [DiskUse(run.id, run.owner, bytes_in(run.path)) for run in list_runs(folder)]


class DiskQuota:
    """Check that a run stays within the quota of its folder.

    The other runs are measured once: only one run of a folder is trained at a time.

    Args:
        run: `TrainingRun`.
        quota: `Quota`; None: unlimited.
    """

    def __init__(self, run: TrainingRun, quota: Quota | None):
        self._run, self._quota = run, quota
        self._others = [kept for kept in run_sizes(run.path.parent) if kept.name != run.id] if quota else []

    def check(self, more: int = 0) -> None:
        """Check that the run may grow by so many bytes.

        Raises:
            QuotaError: If it may not, or is too large already.
        """
        if self._quota:
            own = DiskUse(self._run.id, self._run.owner, bytes_in(self._run.path))
            check_quota(self._quota, [*self._others, own], own.owner, what="trainings", more=more)


def list_runs(folder: str | Path | None = None, *, owner: str | None = None) -> list[TrainingRun]:
    """Return the runs of a folder, the newest first.

    Args:
        folder: Folder of runs; None: `runs_folder()`.
        owner: Only the runs of this owner; "": shared ones; None: all.
    """
    runs = _runs_in(Path(folder or runs_folder()))
    return [run for run in runs if owner is None or run.owner == owner]


def _runs_in(folder):
    """Return the runs of a folder, the newest first; they are looked for again when the folder has changed.

    A folder that changed a moment ago is not remembered: it may change again at the same time of the clock.
    """
    try:
        stamp = os.stat(folder).st_mtime_ns
        known, runs = _known.get(folder, (None, []))
        if known != stamp:
            names = sorted((name for name in os.listdir(folder) if is_name(name)), reverse=True)
            paths = (folder / name for name in names)
            runs = [TrainingRun(path) for path in paths if any(os.path.exists(path / sign) for sign in SIGNS)]
            _known.clear()
            if abs(time.time_ns() - stamp) > SETTLED:
                _known[folder] = stamp, runs
    except OSError:
        return []
    return runs


_known: dict[Path, tuple[int, list[TrainingRun]]] = {}
"""The runs of the folder that was listed last, by the time of its last change."""


def all_job_bytes(folder: Path) -> list[bytes]:
    """Return the raw `job.json` of every run in a folder, broken runs included.

    Raises:
        OSError: If one cannot be read.
    """
    return [TrainingRun(entry).job_bytes for entry in folder.iterdir() if is_name(entry.name)]


def queued_runs(folder: str | Path | None = None) -> list[TrainingRun]:
    """Return the queued runs in the order in which they will be trained.

    Owners take turns: the one whose runs were worked on least recently comes first, with the oldest of its
    runs.
    """
    runs, worked, waiting = list_runs(folder), {}, {}
    for run in reversed(runs):
        owner, status, last_worked = run.standing()
        worked[owner] = max(worked.get(owner, (0, 0.0)), (0, last_worked))
        if status == "queued":
            waiting.setdefault(owner, collections.deque()).append(run)
    order = []
    while waiting:
        owner = min(waiting, key=lambda owner: (worked[owner], waiting[owner][0].id))
        order.append(waiting[owner].popleft())
        worked[owner] = (1, len(order))  # later than any past time
        if not waiting[owner]:
            del waiting[owner]
    return order


def runs_alike(
    runs: Iterable[TrainingRun], data: str, setting: str, values: Sequence[float]
) -> dict[float, TrainingRun] | None:
    """Return value -> the last finished run with that value of a setting, of runs alike in all else.

    None if there are none for all values.

    Args:
        runs: The newest first.
        data: Their data: a task, or the path of a file.
        setting: A field of `TrainingSettings`.
        values: Its values.
    """
    groups = []
    for run in runs:
        if run.status != "finished" or run.job.data != data:
            continue
        value = getattr(run.job.settings, setting)
        if value not in values:
            continue
        settings = dataclasses.replace(run.job.settings, **{setting: values[0]})
        rest = dataclasses.replace(run.job, settings=settings, **WATCHED)
        found = next((found for others, found in groups if others == rest), None)
        if found is None:
            groups.append((rest, found := {}))
        found.setdefault(value, run)
        if len(found) == len(values):
            return found
    return None


class Trainings(NamedTuple):
    """How the trainings that a lesson asks about have ended.

    Attributes:
        best: Number of the right choice, from 0, as a text.
        metric: Name of the metric that selects the best epoch.
        scores: That of the best epoch on the validation rows, for each choice.
    """

    best: str
    metric: str
    scores: tuple[float, ...]


def best_training(lesson: Lesson, runs: Iterable[TrainingRun]) -> Trainings | None:
    """Return which of the trainings that are asked about is the best, by the visitor's own runs.

    None until each of them has finished, with nothing else different.

    Args:
        lesson: The lesson.
        runs: The visitor's runs, the newest first.
    """
    asked = lesson.predict
    if asked is None or lesson.task is None:
        return None
    found = runs_alike(runs, lesson.task, asked.setting, asked.values)
    if found is None:
        return None
    metric = next(iter(found.values())).job.metric
    scores = [(found[value].state().best or {}).get(f"val_{metric}", np.nan) for value in asked.values]
    if not np.isfinite(scores).all():
        return None
    number = int(np.argmin(scores) if metric in LOWER_IS_BETTER else np.argmax(scores))
    return Trainings(str(number), metric, tuple(scores))


def is_busy(folder: str | Path | None = None) -> bool:
    """Return whether a run is queued or being trained."""
    return any(run.status in ("queued", "running") for run in list_runs(folder))


def runs_ahead(run: TrainingRun) -> int:
    """Return how many runs, the active one included, come before a queued one."""
    folder = run.path.parent
    waiting = [queued.id for queued in queued_runs(folder)]
    at_work = sum(other.status == "running" for other in list_runs(folder))
    return at_work + (waiting.index(run.id) if run.id in waiting else 0)


def open_run(name: str, folder: str | Path | None = None) -> TrainingRun:
    """Return a run by its id.

    Raises:
        RunError: If there is none.
    """
    if is_name(str(name)):
        run = TrainingRun(Path(folder or runs_folder()) / str(name))
        if any(os.path.exists(run.path / name) for name in SIGNS):
            return run
    raise RunError("runs.missing", run=name, command=command())


def _parent_files(job):
    """Return name -> content or path of the files of a job's parent, if it has one that fits."""
    if not job.parent:
        return {}
    try:
        inherited(store.read_config(job.parent), job.config)
        return store.files_to_copy(job.parent)
    except Problem as error:
        raise RunError("parent.unusable", reason=error) from None


@contextlib.contextmanager
def _admission(owner, folder, quota, one_at_a_time, size=0):
    """Hold the queue's lock, so that quota and number of runs cannot change after the check."""
    if not (quota or one_at_a_time):
        yield
        return
    with FileLock(folder / ".creating.lock", timeout=LOCK_SECONDS):
        if one_at_a_time:
            standings = {run.id: run.standing() for run in list_runs(folder)}
            for run, standing in standings.items():
                if standing.owner == owner and standing.status in ("queued", "running"):
                    raise BusyError(run)
            if sum(standing.status == "queued" for standing in standings.values()) >= MOST_QUEUED:
                raise RunError("runs.full", most=MOST_QUEUED)
        if quota:
            check_quota(quota, run_sizes(folder), owner, what="trainings", more=size)
        yield
