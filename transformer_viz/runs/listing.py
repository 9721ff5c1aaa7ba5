"""All runs of a folder: a new one, those there are, those that wait."""

import datetime
import os
import re
import secrets
from pathlib import Path

from transformer_viz.runs.disk import check_folder, new_folder, write_new
from transformer_viz.runs.errors import RunError, writing
from transformer_viz.runs.events import append_event
from transformer_viz.runs.folder import TrainingRun
from transformer_viz.runs.job import TrainingJob

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")

SIGNS = ("job.json", "events.jsonl", "checkpoint.safetensors")
"""A folder that holds one of these is a run, or was one."""


def runs_folder() -> Path:
    """Return TRANSFORMER_VIZ_RUNS, or `runs/` beside the package."""
    return Path(os.environ.get("TRANSFORMER_VIZ_RUNS") or Path(__file__).parents[2] / "runs")


def check_runs_folder(folder=None) -> None:
    """See whether runs can be kept, making their folder if it is not there yet.

    Args:
        folder: Folder of runs; None: `runs_folder()`.

    Raises:
        UnwritableError: If they cannot.
    """
    folder = Path(folder or runs_folder())
    with writing(folder):
        check_folder(folder)


def create_run(job: TrainingJob, *, title="", folder=None) -> TrainingRun:
    """Make the folder of a new run and put it into the queue.

    Args:
        job: What to do.
        title: A word for its id: the task or the file.
        folder: Folder of runs; None: `runs_folder()`.

    Raises:
        RunError: If the folder cannot be written.
    """
    folder = Path(folder or runs_folder())
    slug = re.sub(r"[^a-z0-9]+", "-", (title or Path(job.data).stem.split(".")[0]).lower()).strip("-")[:24]
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S%f")  # in the order in which they were asked for
    path = folder / "-".join(filter(None, (stamp, slug, secrets.token_hex(2))))
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with new_folder(path) as temporary:
            write_new(temporary / "job.json", job.to_json().encode())
            append_event(temporary / "events.jsonl", "queued")
    return TrainingRun(path)


def list_runs(folder=None) -> list[TrainingRun]:
    """Return all runs, the newest first; folders that are none are left out."""
    folder = Path(folder or runs_folder())
    try:
        found = [
            entry
            for entry in folder.iterdir()
            if ID.fullmatch(entry.name) and any(os.path.exists(entry / name) for name in SIGNS)
        ]
    except OSError:
        return []
    return [TrainingRun(path) for path in sorted(found, reverse=True)]


def queued_runs(folder=None) -> list[TrainingRun]:
    """Return the runs that wait for their turn, the oldest first."""
    return [run for run in reversed(list_runs(folder)) if run.status == "queued"]


def open_run(name, folder=None) -> TrainingRun:
    """Return a run by its id.

    Raises:
        RunError: If there is none.
    """
    if ID.fullmatch(str(name)):
        run = TrainingRun(Path(folder or runs_folder()) / str(name))
        if any(os.path.exists(run.path / name) for name in SIGNS):
            return run
    raise RunError(f"There is no training run {name!r}. List them with: python -m transformer_viz runs")
