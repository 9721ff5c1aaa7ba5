"""The folder of a training run: whoever trains appends to it, whoever shows it reads it."""

import contextlib
import os
from pathlib import Path

from transformer_viz import store
from transformer_viz.language import Phrase, Problem
from transformer_viz.runs.checkpoint import is_damaged
from transformer_viz.runs.claim import claimed_by, is_at_work, write_claim
from transformer_viz.runs.disk import new_file, remove, sweep_hidden
from transformer_viz.runs.errors import RunError, write_errors
from transformer_viz.runs.events import append_event
from transformer_viz.runs.job import MAX_JOB_BYTES, TrainingJob, read_job
from transformer_viz.runs.log import file_stamp, read_log, read_outline
from transformer_viz.runs.pictures import pictures_in
from transformer_viz.runs.state import FINAL_EVENTS, RunState, run_state, run_status, without_rolled_back


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
            RunError: If that cannot be told; says why.
        """
        job, problem = self._job
        if problem:
            raise RunError("runs.no_run", place=self.path, reason=problem)
        return job

    @property
    def error(self) -> Problem | None:
        """Why nothing can be done with the run but to delete it; None if there is nothing wrong."""
        return self._job[1]

    @property
    def problem(self) -> str:
        """The sentence of the error, in English; "" if there is nothing wrong."""
        return str(self.error or "")

    @property
    def owner(self) -> str:
        """Whom the run belongs to; "" if to everybody, or if it is broken."""
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
        """What changes whenever something is added to the log."""
        return file_stamp(self._log)

    @property
    def last_worked(self) -> float:
        """When a process began or ended its work on the run, the last time; 0 if never."""
        return read_outline(self._log).last_worked

    @property
    def _job(self):
        path = self.path / "job.json"
        return read_job(path, file_stamp(path))

    @property
    def _log(self):
        return self.path / "events.jsonl"

    def append(self, event, **facts) -> None:
        """Add a line to the log: what happened, and when.

        Raises:
            UnwritableError: If the disk refuses.
        """
        with write_errors(self.path):
            append_event(self._log, event, **facts)

    def events(self) -> list[dict]:
        """Return what happened, in order, what was undone by going back to a checkpoint left out."""
        return without_rolled_back(read_log(self._log).events)

    @property
    def status(self) -> str:
        """How the run stands, as `RunState.status`, without reading all of its log."""
        return "broken" if self.problem else run_status(read_outline(self._log).last, self._is_worked_on)

    def state(self) -> RunState:
        """Return the run as it stands."""
        log = read_log(self._log)
        return run_state(without_rolled_back(log.events), self.status, is_whole=log.is_whole)

    def check_exists(self) -> None:
        """See whether the folder is still there: whoever writes a folder into it would make it anew.

        Raises:
            UnwritableError: If it is gone.
        """
        with write_errors(self.path):
            os.stat(self.path)

    def frames(self) -> list[tuple[int, int, Path]]:
        """Return (step, probe, path of a saved `Trace`) of every picture of the probes, in order."""
        last = max((event["step"] for event in self.events() if "step" in event), default=0)
        return [
            (step, probe, self.frame(step, probe))
            for step, probe in pictures_in(self.path / "frames")
            if step <= last
        ]

    def frame(self, step, probe) -> Path:
        """Return the path of the picture of one probe at one step."""
        return self.path / "frames" / f"{step:07d}-{probe}.npz"

    def write_frame(self, step, probe, trace) -> None:
        """Write the picture of one probe at one step.

        Raises:
            UnwritableError: If the disk refuses; nothing is left then.
        """
        path = self.frame(step, probe)
        with write_errors(self.path):
            path.parent.mkdir(exist_ok=True)
            with new_file(path) as temporary:
                trace.save(temporary)

    def queue(self) -> None:
        """Ask for the run to be worked on, from its checkpoint if there is one.

        Raises:
            RunError: If it is being worked on, has finished, or cannot be written.
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
        """Ask for the run to be worked on from its beginning, its checkpoint left behind.

        Raises:
            RunError: If it is being worked on, has finished, or cannot be written.
        """
        if self.status in ("running", "finished", "broken"):
            self.queue()  # says why not
        with write_errors(self.path):
            self.checkpoint.unlink(missing_ok=True)
        self.queue()

    @property
    def has_damaged_checkpoint(self) -> bool:
        """Whether there is a checkpoint that cannot be gone on from, as far as its outside tells."""
        return is_damaged(self.checkpoint)

    def stop(self) -> None:
        """Ask whoever works on the run to stop within a step, and to keep the best so far.

        Raises:
            UnwritableError: If the disk refuses.
        """
        with write_errors(self.path):
            (self.path / "stop").touch()  # whoever is about to begin sees it
        if self.status == "queued":
            self.append("stopped")

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked to stop."""
        return os.path.exists(self.path / "stop")

    def claim(self) -> None:
        """Write down that this process works on the run, and remove what one before it left half written.

        Raises:
            UnwritableError: If the disk refuses.
        """
        with write_errors(self.path):
            write_claim(self._claim)
        sweep_hidden(self.path)
        sweep_hidden(self.path / "frames")

    def release(self) -> None:
        """Remove the claim of this process on the run; raises nothing."""
        with contextlib.suppress(OSError):
            self._claim.unlink()

    def save(self, name, *, folder=None, quota=None, overwrite=False, dtype="float16", card=None) -> Path:
        """Write the best model so far to `models/<name>`.

        Args:
            name: The model's name.
            folder: Folder of models; None: `store.models_folder()`.
            quota: Bytes that all models of the folder may take, as in `store.write_model`.
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
            quota=quota,
            dtype=dtype,
            overwrite=overwrite,
        )

    def delete(self) -> None:
        """Remove the folder, in such a way that nobody finds half of it.

        Raises:
            RunError: If it is being worked on, or cannot be removed.
        """
        if read_outline(self._log).last not in FINAL_EVENTS and self._is_worked_on():
            raise RunError("runs.at_work", run=self.id)
        with write_errors(self.path):
            remove(self.path)

    @property
    def pid(self) -> int | None:
        """Id of the process that works on the run, or broke off its work; None if there is none."""
        return claimed_by(self._claim)[0]

    @property
    def _claim(self):
        return self.path / "process.json"

    def _is_worked_on(self):
        return is_at_work(self._claim)
