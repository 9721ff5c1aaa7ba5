"""What a training leaves in the folder of its run: log, pictures of the probes, models and checkpoint."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from transformer_viz import store
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.store.quota import bytes_in
from transformer_viz.training.checkpoint import write_checkpoint
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.evaluator import Totals
from transformer_viz.training.loop import Epoch, Event, Parameters, Probed, Resumable, Step, Untrained
from transformer_viz.training.model_card import model_card
from transformer_viz.training.runs.cost import FLOAT
from transformer_viz.training.runs.errors import QuotaError, write_errors
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import DiskQuota

STEP_SECONDS = 0.3
"""Initial interval between two step events."""

STEP_SHARE = 1 / 500
"""Interval between two step events as a share of the time so far: the log of a long run stays short."""

FIRST_STEPS = 200
"""Steps at the beginning of which each is logged: all of a training on few rows."""

CHECKPOINT_SECONDS = 10
"""Shortest interval between two checkpoints within an epoch."""

CHECKPOINT_SHARE = 0.03
"""Largest share of the time spent on writing checkpoints."""

SMALL_FILES = 2**20
"""Approximate bytes of a run's log, model card and tokenizers."""


class Recorder:
    """Writes each event of a training into the folder of its run.

    Args:
        run: The run.
        dataset: What it is trained on.
        quota: Of the run; without room for more pictures of the probes, none are written.
        log: Adds an event to the log: its name and its facts.
    """

    def __init__(self, run: TrainingRun, dataset: Dataset, quota: DiskQuota, log: Callable[..., None]):
        self._run, self._dataset, self._quota, self._log = run, dataset, quota, log
        self._steps = _StepLog(log)
        self._is_full = False
        self._last_checkpoint, self._interval = time.monotonic(), CHECKPOINT_SECONDS

    def check_room(self, more: int = 0) -> None:
        """Check that there is room for the model and the checkpoint, beside so many bytes.

        Raises:
            QuotaError: If there is none.
        """
        copies = 4 + (self._run.job.settings.average > 0)  # value, Adam's two means, the model's value
        planned = SMALL_FILES + FLOAT * copies * self._dataset.config.num_parameters
        written = bytes_in(self._run.checkpoint) + bytes_in(self._run.model)
        self._quota.check(more + max(0, planned - written))

    def record(self, event: Event) -> None:
        """Write what an event tells.

        Raises:
            QuotaError: If there is no room for the checkpoint.
            UnwritableError: If the folder cannot be written.
        """
        match event:
            case Untrained():
                facts = {"learning_rate": 0.0, "tokens_per_second": None, "memory": _memory()}
                self._log("step", step=0, **event.metrics, **facts)
                self._keep_epoch(0, 0, event.parameters)
            case Step():
                self._steps.add(event)
            case Probed():
                for number, trace in enumerate(event.traces):
                    if trace is not None and self._has_space(event.step, trace.nbytes):
                        self._run.write_frame(event.step, number, trace)
                self._log("samples", step=event.step, samples=event.samples)
            case Epoch():
                self._end_epoch(event)
            case Resumable():
                is_due = time.monotonic() - self._last_checkpoint > self._interval
                if is_due or event.progress.batch == 0:
                    self.write_checkpoint(event)

    def write_checkpoint(self, event: Resumable) -> None:
        """Write a checkpoint, and adapt the interval to its cost; errors as for `record`."""
        before, state = time.monotonic(), event.state()
        size = sum(value.nbytes for value in state.values())
        self._quota.check(max(0, size - bytes_in(self._run.checkpoint)))
        with write_errors(self._run.path):
            write_checkpoint(self._run.checkpoint, state, event.progress)
        self._last_checkpoint = time.monotonic()
        taken = self._last_checkpoint - before
        self._interval = max(CHECKPOINT_SECONDS, taken / CHECKPOINT_SHARE)

    def _end_epoch(self, event):
        """Log an epoch, and write its model if it is the best so far, or one of those that are kept."""
        facts = {"best": event.is_best, "seconds": event.seconds}
        self._log("epoch", epoch=event.epoch, step=event.step, **facts, **event.metrics)
        if event.is_best:
            card = model_card(self._run, self._dataset, event.seconds)
            self._run.check_exists()
            write_model(self._run.model, self._dataset, event.parameters(), card)
        self._keep_epoch(event.epoch, event.step, event.parameters)

    def _keep_epoch(self, epoch, step, parameters):
        """Write the model of epochs 0, 1, 2, 4, 8, ..., to be compared with others."""
        size = FLOAT // 2 * self._dataset.config.num_parameters + SMALL_FILES
        if not epoch & (epoch - 1) and self._has_space(step, size):
            self._run.check_exists()
            place = self._run.epochs / str(epoch)
            write_model(place, self._dataset, parameters(), {"epoch": epoch}, dtype="float16")

    def _has_space(self, step, size):
        """Return whether so many bytes leave room for checkpoint and model; the first time not, log that."""
        try:
            self.check_room(size)
        except QuotaError:
            if not self._is_full:
                self._is_full = True
                self._log("full", step=step)
            return False
        return True


class _StepLog:
    """Logs the means of the steps since the last one that was logged, if that is long enough ago.

    Args:
        log: As for `Recorder`.
    """

    def __init__(self, log: Callable[..., None]):
        self._log, self._last = log, 0.0
        self._totals, self._seconds = Totals(), 0.0

    def add(self, step: Step) -> None:
        """Take one more step."""
        self._totals.add(step.measured)
        self._seconds += step.seconds
        interval = max(STEP_SECONDS, STEP_SHARE * step.seconds_so_far)
        if step.step > FIRST_STEPS and time.monotonic() - self._last < interval:
            return
        self._log(
            "step",
            step=step.step,
            **self._totals.means(),
            learning_rate=step.learning_rate,
            tokens_per_second=self._totals.sums["tokens"][0] / self._seconds,
            memory=_memory(),
        )
        self._last, self._totals, self._seconds = time.monotonic(), Totals(), 0.0


def write_model(
    place: Path,
    dataset: Dataset,
    parameters: Parameters,
    card: dict[str, Any],
    *,
    head_roles: HeadRoles | None = None,
    dtype: str = "float32",
    overwrite: bool = True,
) -> None:
    """Write a model of a training to a folder; errors as of `store.write_model`."""
    store.write_model(
        place.name,
        folder=place.parent,
        config=dataset.config,
        tokenizer=dataset.tokenizers["tokenizer"],
        target_tokenizer=dataset.tokenizers.get("target_tokenizer"),
        parameters=parameters,
        head_roles=head_roles,
        card=card,
        dtype=dtype,
        overwrite=overwrite,
    )


def _memory():
    """Return the bytes of memory that this process takes."""
    return psutil.Process().memory_info().rss
