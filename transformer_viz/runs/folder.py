"""The folder of a training run: whoever trains appends to it, whoever shows it reads it."""

import datetime
import json
import os
import re
import secrets
from pathlib import Path

import psutil

from transformer_viz import store
from transformer_viz.runs.disk import check_folder, new_folder, remove_folder, write_new, write_whole
from transformer_viz.runs.errors import RunError, writing
from transformer_viz.runs.events import append_event
from transformer_viz.runs.job import TrainingJob
from transformer_viz.runs.log import read_log, read_outline
from transformer_viz.runs.state import RunState, state_of, status_of, without_undone

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")


class TrainingRun:
    """The folder of one run; a handle without state of its own.

    Attributes:
        path: The folder.
        id: Its name.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.id = self.path.name

    def __eq__(self, other):
        return isinstance(other, TrainingRun) and self.path == other.path

    def __hash__(self):
        return hash(self.path)

    @property
    def checkpoint(self) -> Path:
        """File to go on from."""
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        """Model folder with the best so far."""
        return self.path / "model"

    @property
    def job(self) -> TrainingJob:
        """What was asked.

        Raises:
            RunError: If the folder is no run.
        """
        try:
            return TrainingJob.from_json((self.path / "job.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{self.path} is not a training run: {error}") from None

    @property
    def _log(self):
        return self.path / "events.jsonl"

    def append(self, event, **facts) -> None:
        """Add a line to the log: what happened, and when.

        Raises:
            UnwritableError: If the disk refuses.
        """
        with writing(self.path):
            append_event(self._log, event, **facts)

    def events(self) -> list[dict]:
        """Return what happened, in order, what was undone by going back to a checkpoint left out."""
        return without_undone(read_log(self._log).events)

    @property
    def status(self) -> str:
        """How the run stands, as `RunState.status`, without reading all of its log."""
        return status_of(read_outline(self._log).last, self._is_worked_on)

    def state(self) -> RunState:
        """Return the run as it stands."""
        log = read_log(self._log)
        return state_of(without_undone(log.events), self.status, is_whole=log.is_whole)

    def frames(self) -> list[tuple[int, int, Path]]:
        """Return (step, probe, path of a saved `Trace`) of every picture of the probes, in order."""
        names = (path.stem.split("-") for path in sorted((self.path / "frames").glob("*-*.npz")))
        last = max((event["step"] for event in self.events() if "step" in event), default=0)
        return [
            (int(step), int(probe), self.frame(int(step), int(probe)))
            for step, probe in names
            if int(step) <= last
        ]

    def frame(self, step, probe) -> Path:
        """Return the path of the picture of one probe at one step."""
        return self.path / "frames" / f"{step:07d}-{probe}.npz"

    def queue(self) -> None:
        """Ask for the run to be worked on, from its checkpoint if there is one.

        Raises:
            RunError: If it is being worked on, has finished, or cannot be written.
        """
        status = self.status
        if status in ("running", "finished"):
            raise RunError(f"The run {self.id} is {status}; there is nothing to resume.")
        with writing(self.path):
            (self.path / "stop").unlink(missing_ok=True)
        self.append("queued")

    def stop(self) -> None:
        """Ask whoever works on the run to stop within a step, and to keep the best so far.

        Raises:
            UnwritableError: If the disk refuses.
        """
        if self.status == "queued":
            self.append("stopped")
        else:
            with writing(self.path):
                (self.path / "stop").touch()

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked to stop."""
        return os.path.exists(self.path / "stop")

    def claim(self) -> None:
        """Write down that this process works on the run.

        Raises:
            UnwritableError: If the disk refuses.
        """
        process = psutil.Process()
        text = json.dumps({"pid": process.pid, "created": process.create_time()})
        with writing(self.path):
            write_whole(self.path / "process.json", text.encode())

    def save(self, name, *, folder=None, overwrite=False, dtype="float16", card=None) -> Path:
        """Write the best model so far to `models/<name>`.

        Args:
            name: The model's name.
            folder: Folder of models; None: `store.models_folder()`.
            overwrite: Replace a model of that name.
            dtype: As in `store.write_model`.
            card: Facts that are added to the card.

        Raises:
            ModelError: If there is no model yet, or it cannot be written there.
        """
        best = store.read_model(self.model)
        return store.write_model(
            name,
            config=best.config,
            tokenizer=best.tokenizer,
            target_tokenizer=best.target_tokenizer,
            card=best.card | (card or {}),
            parameters=best.parameters,
            folder=folder,
            dtype=dtype,
            overwrite=overwrite,
        )

    def delete(self) -> None:
        """Remove the folder, in such a way that nobody finds half of it.

        Raises:
            RunError: If it is being worked on, or cannot be removed.
        """
        if self.status == "running":
            raise RunError(f"The run {self.id} is running. Stop it first.")
        with writing(self.path):
            remove_folder(self.path)

    @property
    def pid(self) -> int | None:
        """Id of the process that worked on the run last; None if there was none."""
        return self._claim()["pid"]

    def _claim(self):
        try:
            return json.loads((self.path / "process.json").read_text())
        except (OSError, ValueError):
            return {"pid": None}

    def _is_worked_on(self):
        claim = self._claim()
        try:
            process = psutil.Process(claim["pid"])
            return process.create_time() == claim["created"] and process.status() != psutil.STATUS_ZOMBIE
        except (KeyError, psutil.Error):
            return False


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
            if ID.fullmatch(entry.name) and os.path.exists(entry / "job.json")
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
        if os.path.exists(run.path / "job.json"):
            return run
    raise RunError(f"There is no training run {name!r}. List them with: python -m transformer_viz runs")
