"""A training from beginning to end: from a queued run, or its checkpoint, to a model folder."""

import contextlib
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import tensorflow as tf

from transformer_viz import store
from transformer_viz.explorer.explorer import gpus
from transformer_viz.language import Phrase, Problem
from transformer_viz.store.quota import Quota
from transformer_viz.training.checkpoint import Progress, State, read_checkpoint
from transformer_viz.training.cluster import Cluster
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.finish import finish, output_of
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.loop import Training
from transformer_viz.training.recorder import Recorder
from transformer_viz.training.running_text import MaskedText, RunningText
from transformer_viz.training.runs.cost import num_cores, parameter_bytes
from transformer_viz.training.runs.errors import FULL, RunError, UnwritableError, failure
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import DiskQuota, create_run
from transformer_viz.training.text_pairs import TextPairs
from transformer_viz.training.turn import Stopped, Turn, TurnOver

PROCESSOR_NOTES = {
    "bfloat16": Phrase("precision.brain"),
    "float16": Phrase("precision.half"),
}
"""Notes on a precision where there is no GPU: on a processor with AVX-512 BF16, steps of batches of 4 x 128
took 0.76 (bfloat16) and 1.37 (float16) times as long as in float32."""

RESERVE = 2**16
"""Bytes reserved on disk, so that the log can still record that the disk is full."""


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
    watch, cluster = watch or (lambda event: None), Cluster()

    def log(event: str, **facts: Any) -> None:
        run.append(event, **facts)
        watch({"event": event, **facts})

    try:
        run.claim()
        strategy = strategy or _strategy()  # must precede any computation, or the workers do not connect
        cluster = Cluster(strategy)
        (run.path / "reserve").write_bytes(bytes(RESERVE))
        place = _train(run, log, DiskQuota(run, quota), strategy, cluster)
        log("finished", model=str(place))
    except Stopped:
        log("stopped")
    except TurnOver:
        log("stopped" if run.stop_requested else "queued")
    except Exception as error:
        with contextlib.suppress(OSError):
            (run.path / "reserve").unlink(missing_ok=True)
            (run.path / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        try:
            log("failed", **failure(_explained(error, run)))
        finally:
            cluster.report_failure()
    finally:
        with contextlib.suppress(OSError):
            (run.path / "reserve").unlink(missing_ok=True)
        run.release()


def _train(run, log, quota, strategy, cluster):
    """Train a run, and write its model; return the folder of the model."""
    turn, job, saved = Turn(run, cluster), run.job, _saved_by_chief(run, cluster)
    log("started", step=saved[1].step if saved else 0, device=device())
    turn.check()
    output = output_of(run, is_chief=cluster.is_chief)
    parent = store.read_model(run.parent) if job.parent else None
    dataset = dataset_of(job, parent)
    _check_fits(job, dataset)
    log("data", **_data_facts(job, dataset))
    recorder = Recorder(run, dataset, quota, log)
    recorder.check_room()
    turn.check()  # a barrier: every worker has loaded its data

    def keep_going():
        turn.check(has_gone_on=training.has_gone_on)

    training = Training(
        job, dataset, strategy=strategy, cluster=cluster, saved=saved, parent=parent, keep_going=keep_going
    )
    del saved, parent
    try:
        for event in training.events():
            recorder.record(event)
        cluster.leave()
        finish(run, output, dataset, training.evaluator, training.progress.seconds, keep_going)
    except (Stopped, TurnOver):
        if training.has_gone_on:
            recorder.write_checkpoint(training.now)
        raise
    return output.place


def _saved_by_chief(run, cluster) -> tuple[State, Progress] | None:
    """Return state and progress of the chief's checkpoint; None if there is none."""
    data = cluster.broadcast(run.checkpoint.read_bytes() if run.checkpoint.exists() else b"")
    if data and not cluster.is_chief:
        run.checkpoint.write_bytes(data)
    return read_checkpoint(run.checkpoint) if data else None


def _check_fits(job, dataset):
    """Refuse a model that is too large to be opened, or whose parameters alone do not fit into memory: the
    system would end the process.
    """
    store.check_limits(dataset.config)
    needed = parameter_bytes(dataset.config, job.settings, job.trainable_layers)
    free = psutil.virtual_memory().available
    if needed > free:
        raise RunError("training.estimate", needed=needed / 1e9, free=free / 1e9)


def _data_facts(job, dataset):
    """Return the facts about the data, with a note if the precision may be slow on this processor."""
    steps = job.settings.steps_per_epoch(dataset.num_rows)
    note = None if gpus() else PROCESSOR_NOTES.get(job.settings.precision)
    return {
        "train": dataset.num_rows,
        "validation": dataset.num_validation,
        "parameters": dataset.config.num_parameters,
        "steps_per_epoch": steps,
        "total_steps": steps * job.settings.epochs,
        "data": dataset.card["data"],
        "left_out": [bad.to_json() for bad in dataset.left_out],
        **({"note": str(note)} if note else {}),
    }


def device() -> str:
    """Return the names of the GPUs, or the processor and its cores."""
    return ", ".join(gpus()) or f"CPU ({num_cores()} cores)"


def _explained(error: Exception, run: TrainingRun) -> Problem:
    """Return the error to report: what went wrong and how to fix it."""
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
