"""The training loop: from a queued run, or its checkpoint, to a model folder, with every step in the log."""

import contextlib
import itertools
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import tensorflow as tf

from transformer_viz import store
from transformer_viz.explorer.explorer import gpus
from transformer_viz.language import Phrase
from transformer_viz.network.fine_tuning import inherited_values, trained_parameters
from transformer_viz.store.load import load
from transformer_viz.store.quota import Quota, bytes_in
from transformer_viz.training.checkpoint import Progress, read_checkpoint, write_checkpoint
from transformer_viz.training.cluster import Cluster
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.errors import explained
from transformer_viz.training.evaluator import Evaluator, Totals
from transformer_viz.training.initial import same_token_values
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.model_card import model_card
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.running_text import MaskedText, RunningText
from transformer_viz.training.runs.cost import FLOAT, num_cores, parameter_bytes
from transformer_viz.training.runs.errors import QuotaError, RunError, failure, write_errors
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import LOWER_IS_BETTER, TrainingJob
from transformer_viz.training.runs.listing import DiskQuota, create_run, queued_runs
from transformer_viz.training.text_pairs import TextPairs

STEP_SECONDS = 0.3
"""Initial interval between two step events."""

STEP_SHARE = 1 / 500
"""Interval between two step events as a share of the time so far: the log of a long run stays short."""

FIRST_STEPS = 200
"""Steps at the beginning of which each is logged: all of a training on few rows."""

CHECKPOINT_SECONDS = 10
"""Shortest interval between two checkpoints within an epoch."""

EFFECT_SHARE, MOST_EFFECT_SECONDS = 0.1, 60
"""Most of a training's time that is then spent on how well effects are estimated: a share, and seconds."""

CHECKPOINT_SHARE = 0.03
"""Largest share of the time spent on writing checkpoints."""

PROCESSOR_NOTES = {
    "bfloat16": Phrase("precision.brain"),
    "float16": Phrase("precision.half"),
}
"""Notes on a precision where there is no GPU: on a processor with AVX-512 BF16, steps of batches of 4 x 128
took 0.76 (bfloat16) and 1.37 (float16) times as long as in float32."""

TURN_SECONDS = 120
"""Time after which a run goes back to the queue if another owner's run waits."""

QUEUE_CHECK_SECONDS = 2
"""Interval between two looks at the queue."""

RESERVE = 2**16
"""Bytes reserved on disk, so that the log can still record that the disk is full."""


SMALL_FILES = 2**20
"""Approximate bytes of a run's log, model card and tokenizers."""


class Stopped(Exception):  # noqa: N818  not an error
    """The run was asked to stop."""


class TurnOver(Exception):  # noqa: N818  not an error
    """Another owner's run is next."""


def run_job(
    job: TrainingJob, *, runs: Path | None = None, watch: Callable[[dict], object] | None = None
) -> dict:
    """Train a new run from beginning to end; return the card of the model.

    Args:
        job: `TrainingJob`.
        runs: Folder of runs; None: `runs_folder()`.
        watch: Called with each event.

    Raises:
        RunError: If the run fails; says why.
    """
    run = create_run(job, folder=runs)
    work(run, watch=watch)
    state = run.state()
    if state.status != "finished":
        raise state.problem or RunError("runs.was_stopped", run=run.id)
    return store.read_model(run.model).card


def work(
    run: TrainingRun,
    *,
    watch: Callable[[dict], object] | None = None,
    strategy: tf.distribute.Strategy | None = None,
    quota: Quota | None = None,
) -> None:
    """Train a run until it has finished, fails or is stopped; its log records which.

    Args:
        run: `TrainingRun`; resumed from its checkpoint if it has one.
        watch: Called with each event.
        strategy: `tf.distribute.Strategy`; None: all GPUs, or the processor; with TF_CONFIG, all machines it
            names, each with a run of its own and the same job. The chief's progress counts, it alone writes
            the requested model, and stopping one run stops all.
        quota: `Quota` of all runs of the folder; None: unlimited. Without room for more pictures of the
            probes, none are written; without room for the checkpoint, the run fails.

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
            worker.log_event("failed", **failure(explained(error, run)))
        finally:
            worker.cluster.report_failure()
    finally:
        with contextlib.suppress(OSError):
            (run.path / "reserve").unlink(missing_ok=True)
        run.release()


def device() -> str:
    """Return the names of the GPUs, or the processor and its cores."""
    return ", ".join(gpus()) or f"CPU ({num_cores()} cores)"


class _Worker:
    """State of the training loop."""

    def __init__(self, run, watch, disk_quota):
        self.run, self.watch, self.disk_quota = run, watch, disk_quota
        self.is_full, self.calibration = False, None
        self.progress, self.cluster = Progress(), Cluster()
        self.process = psutil.Process()
        self.last_logged = 0.0
        self.unlogged, self.unlogged_seconds = Totals(), 0.0
        self.last_checkpoint = self.started = self.last_queue_check = time.monotonic()
        self.checkpoint_interval = CHECKPOINT_SECONDS

    def log_event(self, event, **facts):
        """Append an event to the log and pass it to `watch`."""
        self.run.append(event, **facts)
        self.watch({"event": event, **facts})

    def work(self, strategy):
        """Load the data, train, and write the best model."""
        self.run.claim()
        strategy = strategy or _strategy()  # must precede any computation, or the workers do not connect
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
        self.overwrite = self.job.overwrite or not wanted or self.run.has_saved(self.out)
        store.check_writable(self.out.name, folder=self.out.parent, overwrite=self.overwrite)
        parent = store.read_model(self.run.parent) if self.job.parent else None
        self.dataset = dataset_of(self.job, parent)
        store.check_limits(self.dataset.config)
        self._check_memory()
        self.steps_per_epoch = self.settings.steps_per_epoch(self.dataset.num_rows)
        self.log_event("data", **self._data_facts())
        self.disk_quota.check(self._bytes_to_come())
        self._check_stop()  # a barrier: every worker has loaded its data
        trained = trained_parameters(self.dataset.config, self.job.trainable_layers)
        self.trainer = ModelTrainer(self.dataset, self.settings, strategy, trained=trained)
        self.evaluator = Evaluator(self.dataset, self.settings)
        if state:
            self.trainer.restore(state)
        else:
            if parent:
                known = inherited_values(parent.parameters, parent.config, self.dataset.config)
                self.trainer.set_parameters(known)
            elif self.settings.same_token_heads:
                random = self.trainer.parameters()
                heads, seed = self.settings.same_token_heads, self.settings.seed
                self.trainer.set_parameters(same_token_values(random, self.dataset.config, heads, seed))
            self._measure_untrained()
            self._keep_epoch()
        del parent
        while self.progress.epoch < self.settings.epochs and self.progress.stale < self.settings.patience:
            self._train_epoch()
        self._finish()

    def _check_memory(self):
        """Refuse a model whose parameters alone do not fit into memory: the system would end the process."""
        needed = parameter_bytes(self.dataset.config, self.settings, self.job.trainable_layers)
        free = psutil.virtual_memory().available
        if needed > free:
            raise RunError("training.estimate", needed=needed / 1e9, free=free / 1e9)

    def _measure_untrained(self):
        """Log the loss of the untrained model, before the first step has been compiled.

        A fine-tuned model is validated as well, to tell what it knows before training.
        """
        self.evaluator.set_parameters(self.trainer.parameters())
        inputs, targets = next(self.dataset.batches(self.settings, 0))
        metrics = Totals(self.evaluator.measure(inputs, targets)).means()
        if self.job.parent:
            metrics |= self.evaluator.validate(self._check_stop)
        self.log_event(
            "step", step=0, **metrics, learning_rate=0.0, tokens_per_second=None, memory=self._memory()
        )

    def _load_checkpoint(self):
        """Return the chief's (state, progress); (None, `Progress()`) without a checkpoint."""
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
            "left_out": [bad.to_json() for bad in dataset.left_out],
            **self._note(),
        }

    def _note(self):
        """Return a note for the log if the precision may be slow on this processor."""
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
        """Return whether this run has used up its turn and another owner's run waits."""
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
        """Train the rest of the current epoch and evaluate it."""
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
        """Log the means since the last step event, if that is long enough ago."""
        self.unlogged.add(measured)
        self.unlogged_seconds += seconds
        interval = max(STEP_SECONDS, STEP_SHARE * self.progress.seconds)
        if self.progress.step > FIRST_STEPS and time.monotonic() - self.last_logged < interval:
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
        """Validate, write the model if it is the best so far, and write a checkpoint."""
        progress = self.progress
        self._record_probes()
        metrics = totals.means() | self.evaluator.validate(self._check_stop)
        # workers may round differently
        metrics = json.loads(self.cluster.broadcast(json.dumps(metrics).encode()))
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
            self._write_best(self.trainer.parameters())
        self._keep_epoch()
        self._write_checkpoint()

    def _record_probes(self):
        """Write the current attention of the probes and log the model's output for them."""
        self.evaluator.set_parameters(self.trainer.parameters())
        for number, trace in enumerate(self.evaluator.traces()):
            if trace is not None and self._has_space(trace.nbytes):
                self.run.write_frame(self.progress.step, number, trace)
        self.log_event("samples", step=self.progress.step, samples=self.evaluator.samples())

    def _keep_epoch(self):
        """Write the model of epochs 0, 1, 2, 4, 8, ..., to be compared with others."""
        epoch, size = self.progress.epoch, FLOAT // 2 * self.dataset.config.num_parameters + SMALL_FILES
        if not epoch & (epoch - 1) and self._has_space(size):
            path = self.run.epochs / str(epoch)
            self._write_model(path, self.trainer.parameters(), {"epoch": epoch}, dtype="float16")

    def _has_space(self, size):
        """Return whether so many bytes leave room for checkpoint and model; the first time not, log that."""
        try:
            self.disk_quota.check(size + self._bytes_to_come())
        except QuotaError:
            if not self.is_full:
                self.is_full = True
                self.log_event("full", step=self.progress.step)
            return False
        return True

    def _bytes_to_come(self):
        """Return about how many bytes the checkpoint, the model and the log will still grow."""
        copies = 4 + (self.settings.average > 0)  # value, Adam's two means, the model's value
        planned = SMALL_FILES + FLOAT * copies * self.dataset.config.num_parameters
        return max(0, planned - bytes_in(self.run.checkpoint) - bytes_in(self.run.model))

    def _write_checkpoint(self):
        """Write a checkpoint and adapt the interval to its cost."""
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
        """Calibrate the best model and write it; measure it on the test rows, the roles of its heads, and how
        well effects are estimated.
        """
        self.cluster = Cluster()  # no collective operations from here on
        best = store.read_model(self.run.model).parameters
        self.evaluator.set_parameters(best)
        self.calibration = self.evaluator.calibrate()
        self._write_best(best)
        elsewhere = self.out != self.run.model.resolve()
        if elsewhere:
            self.run.save(self.out.name, folder=self.out.parent, overwrite=self.overwrite)
        measured = self.dataset.test_metrics(load(self.out), self._check_stop)
        roles = self.evaluator.head_roles(self._check_stop)
        seconds = min(MOST_EFFECT_SECONDS, EFFECT_SHARE * self.progress.seconds)
        effects = self.evaluator.effects(seconds, self._check_stop)
        self._write_best(best, test=measured, head_roles=roles, effects=effects)
        if elsewhere:
            self.run.save(self.out.name, folder=self.out.parent, overwrite=True)

    def _write_best(self, parameters, *, test=None, head_roles=None, effects=None):
        card = model_card(self.run, self.dataset, self.progress.seconds)
        measured = {"calibration": self.calibration, "test": test}
        card |= {name: facts for name, facts in measured.items() if facts is not None} | (effects or {})
        self._write_model(self.run.model, parameters, card, head_roles=head_roles)

    def _write_model(self, path, parameters, card, *, head_roles=None, dtype="float32"):
        self.run.check_exists()
        store.write_model(
            path.name,
            folder=path.parent,
            config=self.dataset.config,
            tokenizer=self.dataset.tokenizers["tokenizer"],
            target_tokenizer=self.dataset.tokenizers.get("target_tokenizer"),
            parameters=parameters,
            head_roles=head_roles,
            card=card,
            dtype=dtype,
            overwrite=True,
        )


def dataset_of(job: TrainingJob, parent: store.StoredModel | None) -> Dataset:
    """Return the dataset that the job describes, with the tokenizers of its parent, if it has one."""
    if job.settings.pack:
        return MaskedText(job, parent) if job.config.fills_in else RunningText(job, parent)
    return TextPairs(job, parent) if job.config.has_decoder else LabelledTexts(job, parent)


def _strategy():
    """Return a strategy for several machines or GPUs; None for one device."""
    if os.environ.get("TF_CONFIG"):
        return tf.distribute.MultiWorkerMirroredStrategy()
    return tf.distribute.MirroredStrategy() if len(gpus()) > 1 else None
