"""The folder of a training run: the training process appends to it, pages read it."""

import contextlib
import dataclasses
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import psutil

from transformer_viz import store
from transformer_viz.language import Phrase, Problem
from transformer_viz.store.folders import began, discard, new_file, sweep, write_whole
from transformer_viz.store.quota import QuotaLike
from transformer_viz.trace.trace import Trace
from transformer_viz.training.runs.errors import RunError, write_errors
from transformer_viz.training.runs.events import append_event
from transformer_viz.training.runs.job import MAX_JOB_BYTES, TrainingJob, read_job
from transformer_viz.training.runs.log import file_stamp, read_log, read_outline
from transformer_viz.training.runs.state import (
    FINAL_EVENTS,
    RunState,
    run_state,
    run_status,
    without_rolled_back,
)

MOST_HEADER = 100 * 2**20
"""Largest header of a checkpoint in bytes."""

PICTURE = re.compile(r"([0-9]{7,15})-([0-9]{1,6})\.npz")
"""File name of a picture: step and probe."""

OF_BEST = ("best_epoch", "validation", "calibration", "test", "seconds")
"""Facts of a card that hold for the best epoch alone."""


class Standing(NamedTuple):
    """What the order of the queue depends on.

    Attributes:
        owner: Owner of the run; "" if it is shared or broken.
        status: As `RunState.status`.
        last_worked: Time at which a process last started or ended work on the run; 0 if never.
    """

    owner: str
    status: str
    last_worked: float


class TrainingRun:
    """The folder of one run; a handle without state of its own.

    Attributes:
        path: The folder.
        id: Its name.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.id = self.path.name
        self._job_file, self._log = self.path / "job.json", self.path / "events.jsonl"

    def __eq__(self, other):
        return isinstance(other, TrainingRun) and self.path == other.path

    def __hash__(self):
        return hash(self.path)

    @property
    def checkpoint(self) -> Path:
        """Path of the checkpoint."""
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        """Model folder of the best epoch so far."""
        return self.path / "model"

    @property
    def epochs(self) -> Path:
        """Folder of the models of some epochs, each named by its number; "0" is the untrained one."""
        return self.path / "epochs"

    @property
    def parent(self) -> Path:
        """Model folder of the job's `parent`, copied when the run was created."""
        return self.path / "parent"

    @property
    def job(self) -> TrainingJob:
        """The requested training.

        Raises:
            RunError: If `job.json` is missing or invalid; says why.
        """
        job, problem = self._job
        if job is None:
            raise RunError("runs.no_run", place=self.path, reason=problem)
        return job

    @property
    def error(self) -> Problem | None:
        """Why the run can only be deleted; None if it is valid."""
        return self._job[1]

    @property
    def problem(self) -> str:
        """The message of `error` in English; "" if the run is valid."""
        return str(self.error or "")

    @property
    def owner(self) -> str:
        """Owner of the run; "" if it is shared or broken."""
        job, _ = self._job
        return job.owner if job else ""

    @property
    def job_bytes(self) -> bytes:
        """Raw bytes of `job.json`, valid or not; b"" if there is none.

        Raises:
            OSError: If it cannot be read.
        """
        try:
            with (self.path / "job.json").open("rb") as file:
                return file.read(MAX_JOB_BYTES)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return b""

    @property
    def stamp(self) -> tuple:
        """Value that changes with every event added to the log."""
        return file_stamp(self._log)

    @property
    def last_worked(self) -> float:
        """Time at which a process last started or ended work on the run; 0 if never."""
        return self.standing().last_worked

    def standing(self) -> Standing:
        """Return what the order of the queue depends on; of files that have not changed, nothing is read."""
        (job, problem), outline = self._job, read_outline(self._log)
        status = "broken" if problem else run_status(outline.last, self._is_worked_on)
        return Standing(job.owner if job else "", status, outline.last_worked)

    @property
    def _job(self):
        return read_job(self._job_file, file_stamp(self._job_file))

    def append(self, event: str, **facts: object) -> None:
        """Append an event with its time to the log.

        Raises:
            UnwritableError: If the log cannot be written.
        """
        with write_errors(self.path):
            append_event(self._log, event, **facts)

    def events(self) -> list[dict]:
        """Return the events in order, omitting those rolled back by a resume."""
        return without_rolled_back(read_log(self._log).events)

    @property
    def status(self) -> str:
        """Status of the run, as `RunState.status`; of files that have not changed, nothing is read."""
        return self.standing().status

    def state(self) -> RunState:
        """Return the current state of the run."""
        log = read_log(self._log)
        return run_state(without_rolled_back(log.events), self.status, is_whole=log.is_whole)

    def check_exists(self) -> None:
        """Check that the folder still exists: writing a model into it would recreate it.

        Raises:
            UnwritableError: If it is gone.
        """
        with write_errors(self.path):
            os.stat(self.path)

    def kept_epochs(self) -> list[int]:
        """Return the numbers of the epochs whose model was kept, in order; 0: before the first step."""
        last = max((event["epoch"] for event in self.events() if event["event"] == "epoch"), default=0)
        return sorted(epoch for each in self.epochs.glob("[0-9]*") if (epoch := int(each.name)) <= last)

    def frames(self) -> list[tuple[int, int, Path]]:
        """Return (step, probe, path of a saved `Trace`) of every picture of the probes, in order."""
        last = max((event["step"] for event in self.events() if "step" in event), default=0)
        try:
            names = os.listdir(self.path / "frames")
        except OSError:
            return []
        found = sorted((int(name[1]), int(name[2])) for name in map(PICTURE.fullmatch, names) if name)
        return [(step, probe, self.frame(step, probe)) for step, probe in found if step <= last]

    def frame(self, step: int, probe: int) -> Path:
        """Return the path of the picture of one probe at one step."""
        return self.path / "frames" / f"{step:07d}-{probe}.npz"

    def write_frame(self, step: int, probe: int, trace: Trace) -> None:
        """Write the picture of one probe at one step.

        Raises:
            UnwritableError: If it cannot be written; nothing is left behind.
        """
        path = self.frame(step, probe)
        with write_errors(self.path):
            path.parent.mkdir(exist_ok=True)
            with new_file(path) as temporary:
                trace.save(temporary)

    def queue(self) -> None:
        """Queue the run, to be resumed from its checkpoint if it has one.

        Raises:
            RunError: If it is running, has finished, or cannot be written.
        """
        status = self.status
        if status == "broken":
            problem = self.error or Phrase("job.unread")
            raise RunError("runs.broken", run=self.id, reason=problem)
        if status in ("running", "finished"):
            raise RunError(f"runs.is_{status}", run=self.id)
        with write_errors(self.path):
            (self.path / "stop").unlink(missing_ok=True)
        self.append("queued")

    def restart(self) -> None:
        """Queue the run from its beginning, without its checkpoint.

        Raises:
            RunError: If it is running, has finished, or cannot be written.
        """
        if self.status in ("running", "finished", "broken"):
            self.queue()  # raises the reason
        with write_errors(self.path):
            self.checkpoint.unlink(missing_ok=True)
        self.queue()

    @property
    def has_damaged_checkpoint(self) -> bool:
        """Whether the checkpoint cannot be resumed from, judging by its header and length."""
        try:
            with self.checkpoint.open("rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little") % MOST_HEADER))
                ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
                return file.tell() + max(ends) != os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return False
        except (OSError, ValueError, RecursionError, KeyError, TypeError, IndexError, AttributeError):
            return True

    def stop(self) -> None:
        """Stop the run after the current step, keeping its best model.

        Raises:
            UnwritableError: If the folder cannot be written.
        """
        with write_errors(self.path):
            (self.path / "stop").touch()  # also seen by a process that is just starting
        if self.status == "queued":
            self.append("stopped")

    @property
    def stop_requested(self) -> bool:
        """Whether a stop was requested."""
        return os.path.exists(self.path / "stop")

    def claim(self) -> None:
        """Claim the run for this process, and remove temporary files of an earlier one.

        Raises:
            UnwritableError: If the folder cannot be written.
        """
        process = psutil.Process()
        with write_errors(self.path):
            facts = {"pid": process.pid, "created": process.create_time()}
            write_whole(self._claim, json.dumps(facts).encode())
        for folder in (self.path, self.path / "frames", self.epochs):
            sweep(folder)

    def release(self) -> None:
        """Remove this process's claim; raises nothing."""
        with contextlib.suppress(OSError):
            self._claim.unlink()

    def save(
        self,
        name: str,
        *,
        folder: Path | None = None,
        quota: QuotaLike = None,
        overwrite: bool = False,
        dtype: str = "float16",
        card: dict | None = None,
        epoch: int | None = None,
    ) -> Path:
        """Write the best model so far, or that of another epoch, to `models/<name>`.

        The temperature of the best model is not that of another epoch, which is saved without any; its card
        has the validation metrics of that epoch.

        Args:
            name: The model's name.
            folder: Folder of models; None: `store.models_folder()`.
            quota: As in `store.write_model`.
            overwrite: Replace a model of that name.
            dtype: As in `store.write_model`.
            card: Facts added to the card.
            epoch: One of `kept_epochs`, whose parameters are written in place of the best ones.

        Raises:
            ModelError: If there is no model yet, or it cannot be written there.
        """
        best, roles = store.read_model(self.model), store.read_head_roles(self.model)
        if epoch is not None:
            parameters, roles = store.read_model(self.epochs / str(epoch)).parameters, None
            config = best.config.replace(temperature=1.0)
            best = dataclasses.replace(
                best, parameters=parameters, config=config, card=_card_of_epoch(best.card, epoch)
            )
        return store.write_model(
            name,
            config=best.config,
            tokenizer=best.tokenizer,
            target_tokenizer=best.target_tokenizer,
            card=best.card | (card or {}),
            parameters=best.parameters,
            head_roles=roles,
            folder=folder,
            quota=quota,
            dtype=dtype,
            overwrite=overwrite,
        )

    def has_saved(self, place: Path) -> bool:
        """Return whether the model in a folder is of this run: its card tells of the same training.

        A run that was stopped while it measured its model had saved it already.
        """
        try:
            own, found = (store.read_model(path).card for path in (self.model, place))
        except store.ModelError:
            return False
        return all(own.get(fact) == found.get(fact) for fact in ("data", "settings", "history", "validation"))

    def delete(self) -> None:
        """Remove the folder atomically.

        Raises:
            RunError: If the run is being worked on, or cannot be removed.
        """
        if read_outline(self._log).last not in FINAL_EVENTS and self._is_worked_on():
            raise RunError("runs.at_work", run=self.id)
        with write_errors(self.path):
            discard(self.path)

    @property
    def pid(self) -> int | None:
        """Id of the process that works on the run or was interrupted; None if there is none."""
        return self._claimed_by()[0]

    @property
    def _claim(self):
        return self.path / "process.json"

    def _claimed_by(self):
        """Return id and start of the process that claimed the run; (None, None) without a valid claim."""
        try:
            claim = json.loads(self._claim.read_text(encoding="utf-8"))
            pid, created = claim["pid"], claim["created"]
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            return None, None
        is_valid = type(pid) is int and 0 < pid < 2**31 and isinstance(created, float)
        return (pid, created) if is_valid else (None, None)

    def _is_worked_on(self):
        """Return whether the process that claimed the run still exists; another one may have its id."""
        pid, created = self._claimed_by()
        return pid is not None and began(pid) == created


def _card_of_epoch(card, epoch):
    """Return the card of the best model as that of another epoch; a long history has only some epochs."""
    kept = {fact: value for fact, value in card.items() if fact not in OF_BEST}
    rows = {each.get("epoch", number): each for number, each in enumerate(card.get("history", ()), start=1)}
    measured = {
        name.removeprefix("val_"): value
        for name, value in rows.get(epoch, {}).items()
        if name.startswith("val_") and name != "val_loss"
    }
    validation = {"validation": {"rows": card["validation"]["rows"], **measured}} if measured else {}
    history = [each for number, each in rows.items() if number <= epoch]
    return kept | validation | {"epoch": epoch, "history": history}
