"""Working on a run: from where it stands to a model folder, every step written down."""

import contextlib
import dataclasses
import datetime
import itertools
import json
import os
import platform
import time
import traceback
from importlib import metadata
from pathlib import Path

import numpy as np
import psutil
import tensorflow as tf

from transformer_viz import __version__, store
from transformer_viz.inspection.explorer import gpus, load
from transformer_viz.language import Phrase, Problem
from transformer_viz.runs import (
    LOWER_IS_BETTER,
    QuotaError,
    RunError,
    UnwritableError,
    create_run,
    queued_runs,
)
from transformer_viz.runs.cost import FLOAT, num_cores
from transformer_viz.runs.errors import FULL, failure, write_errors
from transformer_viz.runs.quota import bytes_in
from transformer_viz.training.checkpoint import Progress, read_checkpoint, write_checkpoint
from transformer_viz.training.cluster import Cluster
from transformer_viz.training.dataset import LabelledTexts, TextPairs
from transformer_viz.training.disk_quota import DiskQuota
from transformer_viz.training.evaluator import Evaluator, Totals
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.running_text import MaskedText, RunningText

STEP_SECONDS = 0.3
"""Time between two step events at first."""

STEP_SHARE = 1 / 500
"""Share of the time so far between two step events: a long run's log stays short."""

CHECKPOINT_SECONDS = 10
"""Least time between two checkpoints within an epoch."""

CHECKPOINT_SHARE = 0.03
"""Most of a run's time that is spent on writing checkpoints."""

PROCESSOR_NOTES = {
    "bfloat16": Phrase("precision.brain"),
    "float16": Phrase("precision.half"),
}
"""What to know of a precision where there is no GPU: steps of 4 x 128 on one with AVX-512 BF16 took 0.76 and
1.37 times as long as in float32."""

TURN_SECONDS = 120
"""For which a run is worked on while runs of other owners wait; then it waits itself, and goes on later."""

QUEUE_CHECK_SECONDS = 2
"""Time between two looks at who waits."""

RESERVE = 2**16
"""Bytes kept so that a full disk still has room for the line that says so."""


SMALL_FILES = 2**20
"""Bytes of the log, the model card and the tokenizers of a run, at most about."""


class Stopped(Exception):  # noqa: N818  no error: somebody asked for it
    """Somebody asked the run to stop."""


class TurnOver(Exception):  # noqa: N818  no error: others wait
    """It is the turn of another owner."""


def run_job(job, *, runs=None, watch=None) -> dict:
    """Do a new run from beginning to end; return the card of the model.

    Args:
        job: `TrainingJob`.
        runs: Folder of runs; None: `runs_folder()`.
        watch: Called with each event, a dict.

    Raises:
        RunError: If the run fails; says why.
    """
    run = create_run(job, folder=runs)
    work(run, watch=watch)
    state = run.state()
    if state.status != "finished":
        raise state.problem or RunError("runs.was_stopped", run=run.id)
    return store.read_model(run.model).card


def work(run, *, watch=None, strategy=None, quota=None) -> None:
    """Work on a run until it has finished, fails or is asked to stop; its log says which.

    Args:
        run: `TrainingRun`; one that has a checkpoint goes on from there.
        watch: Called with each event, a dict.
        strategy: `tf.distribute.Strategy`; None: all GPUs there are, or the processor; with TF_CONFIG, all
            machines it names, each of which works on a run of its own with the same job. What the first one
            has reached counts, it alone writes the model that was asked for, and a stop of one stops all.
        quota: `Quota` of all runs of the folder; None: as much as there is. Where it leaves no room for
            further pictures, none are kept; where it leaves none for the checkpoint, the run fails.

    Raises:
        UnwritableError: If not even the log of the run can be written.
    """
    worker = _Worker(run, watch or (lambda event: None), DiskQuota(run, quota))
    try:
        worker.work(strategy)
        worker.log_event("finished", model=str(worker.out))
    except Stopped:
        worker.log_event("stopped")
    except TurnOver:
        worker.log_event("stopped" if run.stop_requested else "queued")
    except Exception as error:
        with contextlib.suppress(OSError):
            (run.path / "reserve").unlink(missing_ok=True)
            (run.path / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        try:
            worker.log_event("failed", **failure(_problem(error, run)))
        finally:
            worker.cluster.report_failure()
    finally:
        with contextlib.suppress(OSError):
            (run.path / "reserve").unlink(missing_ok=True)
        run.release()


def device() -> str:
    """Return in words what a run computes on."""
    return ", ".join(gpus()) or f"CPU ({num_cores()} cores)"


class _Worker:
    """What changes while a run is worked on."""

    def __init__(self, run, watch, disk_quota):
        self.run, self.watch, self.disk_quota = run, watch, disk_quota
        self.is_full = False
        self.progress, self.cluster = Progress(), Cluster()
        self.process = psutil.Process()
        self.last_logged = 0.0
        self.unlogged, self.unlogged_seconds = Totals(), 0.0
        self.last_checkpoint = self.started = self.last_queue_check = time.monotonic()
        self.checkpoint_interval = CHECKPOINT_SECONDS

    def log_event(self, event, **facts):
        """Write down what happened, and say it to whoever watches."""
        self.run.append(event, **facts)
        self.watch({"event": event, **facts})

    def work(self, strategy):
        """Read or make the rows, train, and write the best model."""
        self.run.claim()
        strategy = strategy or _strategy()  # before anything is computed, or machines do not find together
        self.cluster = Cluster(strategy)
        (self.run.path / "reserve").write_bytes(bytes(RESERVE))
        self.job = self.run.job
        self.settings = self.job.settings
        state, self.progress = self._load_checkpoint()
        self.first_step = self.progress.step
        self.log_event("started", step=self.progress.step, device=device())
        self._check_stop()
        wanted = self.job.out if self.cluster.is_chief else ""
        self.out = Path(wanted or self.run.model).resolve()
        overwrite = self.job.overwrite or not wanted
        store.check_writable(self.out.name, folder=self.out.parent, overwrite=overwrite)
        self.dataset = _dataset(self.job)
        store.check_limits(self.dataset.config)
        self.steps_per_epoch = self.settings.steps_per_epoch(self.dataset.num_rows)
        self.log_event("data", **self._data_facts())
        self.disk_quota.check(self._bytes_to_come())
        self._check_stop()  # every machine has its rows
        self.trainer = ModelTrainer(self.dataset, self.settings, strategy)
        self.evaluator = Evaluator(self.dataset, self.settings)
        if state:
            self.trainer.restore(state)
        else:
            self._measure_untrained()
        while self.progress.epoch < self.settings.epochs and self.progress.stale < self.settings.patience:
            self._train_epoch()
        self._finish()

    def _measure_untrained(self):
        """Say what the loss is before anything was learned: long before the first step is compiled."""
        self.evaluator.set_parameters(self.trainer.parameters())
        inputs, targets = next(self.dataset.batches(self.settings, 0))
        metrics = Totals(self.evaluator.measure(inputs, targets)).means()
        self.log_event(
            "step", step=0, **metrics, learning_rate=0.0, tokens_per_second=None, memory=self._memory()
        )

    def _load_checkpoint(self):
        """Return the state and the progress to go on from: those of the first machine, for all of them."""
        checkpoint = self.run.checkpoint
        data = self.cluster.broadcast(checkpoint.read_bytes() if checkpoint.exists() else b"")
        if data and not self.cluster.is_chief:
            checkpoint.write_bytes(data)
        return (data and read_checkpoint(checkpoint)) or (None, Progress())

    def _data_facts(self):
        dataset = self.dataset
        return {
            "train": dataset.num_rows,
            "validation": dataset.num_validation,
            "parameters": dataset.config.num_parameters,
            "steps_per_epoch": self.steps_per_epoch,
            "total_steps": self.steps_per_epoch * self.settings.epochs,
            "data": dataset.card["data"],
            **self._note(),
        }

    def _note(self):
        """Return what is to be said once about the precision: a processor may gain nothing by half of it."""
        note = None if gpus() else PROCESSOR_NOTES.get(self.settings.precision)
        return {"note": str(note)} if note else {}

    def _check_stop(self):
        if self.cluster.any_stop(self.run.stop_requested):
            if self.progress.step != self.first_step:
                self._write_checkpoint()
            raise Stopped
        if self._is_turn_over():
            self._write_checkpoint()
            raise TurnOver

    def _is_turn_over(self):
        """Return whether this owner's run has got on for long enough, and another owner waits."""
        now = time.monotonic()
        if (
            not self.job.owner
            or self.progress.step == self.first_step
            or now < self.last_queue_check + QUEUE_CHECK_SECONDS
        ):
            return False
        self.last_queue_check = now
        others = (run.owner != self.job.owner for run in queued_runs(self.run.path.parent))
        return now > self.started + TURN_SECONDS and any(others)

    def _train_epoch(self):
        """Do the rest of an epoch, and find out what it brought."""
        progress, totals = self.progress, Totals(self.progress.sums)
        batches = self.dataset.batches(self.settings, progress.epoch)
        for inputs, targets in itertools.islice(batches, progress.batch, None):
            self._check_stop()
            before = time.monotonic()
            rate = self.settings.learning_rate_at(progress.step, self.dataset.num_rows)
            measured = self.trainer.train(inputs, targets, rate)
            progress.seconds += time.monotonic() - before
            self._check_finite(measured["loss"][0])
            totals.add(measured)
            progress.batch, progress.step, progress.sums = progress.batch + 1, progress.step + 1, totals.sums
            self._log_step(measured, rate, time.monotonic() - before)
            if progress.batch == self.steps_per_epoch:
                break
            if progress.step == 1 or (self.job.frame_steps and progress.step % self.job.frame_steps == 0):
                self._record_probes()
            if time.monotonic() - self.last_checkpoint > self.checkpoint_interval:
                self._write_checkpoint()
        self._end_epoch(totals)

    def _log_step(self, measured, rate, seconds):
        """Say, from time to time, what was measured since the last time."""
        self.unlogged.add(measured)
        self.unlogged_seconds += seconds
        if time.monotonic() - self.last_logged < max(STEP_SECONDS, STEP_SHARE * self.progress.seconds):
            return
        self.log_event(
            "step",
            step=self.progress.step,
            **self.unlogged.means(),
            learning_rate=rate,
            tokens_per_second=self.unlogged.sums["tokens"][0] / self.unlogged_seconds,
            memory=self._memory(),
        )
        self.last_logged, self.unlogged, self.unlogged_seconds = time.monotonic(), Totals(), 0.0

    def _memory(self):
        return self.process.memory_info().rss

    def _check_finite(self, *values):
        if not all(np.isfinite(value).all() for value in values):
            raise RunError("training.diverged", step=self.progress.step + 1)

    def _end_epoch(self, totals):
        """Validate, write the model if it is the best so far, and a checkpoint."""
        progress = self.progress
        self._record_probes()
        metrics = totals.means() | self.evaluator.validate(self._check_stop)
        metrics = json.loads(
            self.cluster.broadcast(json.dumps(metrics).encode())
        )  # machines may round differently
        value = metrics[f"val_{self.job.metric}"]
        value = [-value if self.job.metric in LOWER_IS_BETTER else value, -metrics["val_loss"]]
        is_best = progress.best is None or value > progress.best
        progress.best, progress.stale = (value, 0) if is_best else (progress.best, progress.stale + 1)
        progress.epoch, progress.batch, progress.sums = progress.epoch + 1, 0, {}
        self.log_event(
            "epoch",
            epoch=progress.epoch,
            step=progress.step,
            best=is_best,
            seconds=progress.seconds,
            **metrics,
        )
        if is_best:
            self._write_model(self.trainer.parameters())
        self._write_checkpoint()

    def _record_probes(self):
        """Write the attention of the probes as it is now."""
        self.evaluator.set_parameters(self.trainer.parameters())
        for number, trace in enumerate(self.evaluator.traces()):
            if trace is not None and self._has_space(trace):
                self.run.write_frame(self.progress.step, number, trace)
        self.log_event("samples", step=self.progress.step, samples=self.evaluator.samples())

    def _has_space(self, trace):
        """Return whether a picture leaves room for checkpoint and model; after the first that does not, no
        more pictures are kept, and the log says so.
        """
        try:
            self.disk_quota.check(trace.nbytes + self._bytes_to_come())
        except QuotaError:
            if not self.is_full:
                self.is_full = True
                self.log_event("full", step=self.progress.step)
        return not self.is_full

    def _bytes_to_come(self):
        """Return by about how many bytes the checkpoint, the model and the log will still grow."""
        copies = 4 + (self.settings.average > 0)  # value, Adam's two means, the model's value
        planned = SMALL_FILES + FLOAT * copies * self.dataset.config.num_parameters
        return max(0, planned - bytes_in(self.run.checkpoint) - bytes_in(self.run.model))

    def _write_checkpoint(self):
        """Write a checkpoint, and see to it that checkpoints take little of the time."""
        before = time.monotonic()
        state = self.trainer.state()
        size = sum(value.nbytes for value in state.values())
        self.disk_quota.check(max(0, size - bytes_in(self.run.checkpoint)))
        self._check_finite(*(value for value in state.values() if value.dtype.kind == "f"))
        with write_errors(self.run.path):
            write_checkpoint(self.run.checkpoint, state, self.progress)
        self.last_checkpoint = time.monotonic()
        self.checkpoint_interval = max(CHECKPOINT_SECONDS, (self.last_checkpoint - before) / CHECKPOINT_SHARE)

    def _finish(self):
        """Write the best model where it was asked for, and measure what was written on the test rows."""
        self.cluster = Cluster()  # from here on each machine is by itself
        best = store.read_model(self.run.model).parameters
        elsewhere = self.out != self.run.model.resolve()
        if elsewhere:
            self.run.save(self.out.name, folder=self.out.parent, overwrite=self.job.overwrite)
        measured = self.dataset.test_metrics(load(self.out))
        self._write_model(best, test=measured)
        if elsewhere:
            self.run.save(self.out.name, folder=self.out.parent, overwrite=True)

    def _write_model(self, parameters, *, test=None):
        self.run.check_exists()
        store.write_model(
            "model",
            folder=self.run.path,
            config=self.dataset.config,
            parameters=parameters,
            card=self._card() | ({} if test is None else {"test": test}),
            dtype="float32",
            overwrite=True,
            **self.dataset.tokenizers,
        )

    def _card(self):
        """Return what the model is, where it came from, and how to train it again."""
        state = self.run.state()
        figure = f"val_{self.job.metric}"
        unlike = ("event", "time", "step", "best", "seconds", "epoch")
        epochs = [
            {name: value for name, value in epoch.items() if name not in unlike} for epoch in state.epochs
        ]
        return {
            "parameters": self.dataset.config.num_parameters,
            **self.job.card,
            **self.dataset.card,
            "settings": dataclasses.asdict(self.settings),
            "versions": {
                "transformer-viz": __version__,
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in ("keras", "tensorflow", "tokenizers", "numpy")},
            },
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "device": state.device,
            "seconds": round(self.progress.seconds, 1),
            "history": epochs,
            "best_epoch": state.best["epoch"],
            "validation": {"rows": self.dataset.num_validation, self.job.metric: state.best[figure]},
        }


def _dataset(job):
    """Return what is learned, as the job asks for it."""
    if job.settings.pack:
        return MaskedText(job) if job.config.fills_in else RunningText(job)
    return TextPairs(job) if job.config.has_decoder else LabelledTexts(job)


def _strategy():
    """Return how to share the work out: over machines, over GPUs, or not at all (None)."""
    if os.environ.get("TF_CONFIG"):
        return tf.distribute.MultiWorkerMirroredStrategy()
    return tf.distribute.MirroredStrategy() if len(gpus()) > 1 else None


def _problem(error, run):
    """Return what went wrong, and the way out."""
    if isinstance(error, OSError) and str(error.filename or "").startswith(str(run.path)):
        error = UnwritableError(run.path, error)
    if (isinstance(error, OSError) and error.errno in FULL) or getattr(error, "cause", "") == "full":
        return RunError("training.full", place=run.path)
    if isinstance(error, tf.errors.UnavailableError | tf.errors.AbortedError | tf.errors.CancelledError):
        return RunError("training.machine_gone")
    if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
        return RunError("training.memory")
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError) and str(error):
        return RunError(str(error))
    return RunError("training.unexpected", kind=type(error).__name__, file=run.path / "traceback.txt")
