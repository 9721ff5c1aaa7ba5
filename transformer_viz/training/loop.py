"""The training loop: plain events of a model that learns, and a state from which it goes on to the bit."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from transformer_viz.network.fine_tuning import inherited_values, trained_parameters
from transformer_viz.store import StoredModel
from transformer_viz.trace.trace import Trace
from transformer_viz.training.checkpoint import Progress, State
from transformer_viz.training.cluster import Cluster
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.evaluator import Evaluator, Totals
from transformer_viz.training.initial import same_token_values
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import LOWER_IS_BETTER, TrainingJob

Parameters = dict[str, np.ndarray]
"""Name of a parameter -> its value."""


class Untrained(NamedTuple):
    """The model before its first step.

    Attributes:
        metrics: Those of its first batch; of a fine-tuned model those of validation as well, to tell what it
            knows before training.
        parameters: Returns its parameters.
    """

    metrics: dict[str, float]
    parameters: Callable[[], Parameters]


class Step(NamedTuple):
    """A step.

    Attributes:
        step: Its number, from 1.
        measured: Name -> (sum, count) of loss, metrics and tokens of its batch.
        learning_rate: Of the step.
        seconds: Time it took.
        seconds_so_far: Time that all steps have taken.
    """

    step: int
    measured: dict[str, tuple[float, float]]
    learning_rate: float
    seconds: float
    seconds_so_far: float


class Probed(NamedTuple):
    """What the model makes of the probes after a step.

    Attributes:
        step: Number of the step.
        traces: Attention of each probe; None: it has no tokens.
        samples: Text, expected and written of each.
    """

    step: int
    traces: list[Trace | None]
    samples: list[dict]


class Epoch(NamedTuple):
    """An epoch whose model is validated.

    Attributes:
        epoch: Its number, from 1.
        step: Number of its last step.
        is_best: Whether its model is the best so far.
        seconds: Time that all steps so far have taken.
        metrics: Means over the epoch, and validation metrics.
        parameters: Returns the parameters.
    """

    epoch: int
    step: int
    is_best: bool
    seconds: float
    metrics: dict[str, float]
    parameters: Callable[[], Parameters]


class Resumable(NamedTuple):
    """A moment from which the training can go on, once what was told before is written.

    Attributes:
        progress: How far it has got; it changes as the training goes on.
        state: Returns all variables that it depends on.
    """

    progress: Progress
    state: Callable[[], State]


Event = Untrained | Step | Probed | Epoch | Resumable


class Training:
    """The training of a model; it goes on as its `events` are asked for.

    Args:
        job: What is trained.
        dataset: Its data.
        strategy: `tf.distribute.Strategy`; None: one device.
        cluster: The machines that train together.
        saved: State and progress to go on from; None: from the beginning.
        parent: Model to fine-tune; None: the parameters are new.
        keep_going: Called before each batch; may raise to stop.

    Attributes:
        evaluator: A copy of the model that is measured.
        progress: How far it has got.

    Raises:
        RunError: If what was saved belongs to another model.
    """

    def __init__(
        self,
        job: TrainingJob,
        dataset: Dataset,
        *,
        strategy: tf.distribute.Strategy | None,
        cluster: Cluster,
        saved: tuple[State, Progress] | None,
        parent: StoredModel | None,
        keep_going: Callable[[], None],
    ):
        self._job, self._dataset, self._cluster, self._keep_going = job, dataset, cluster, keep_going
        trained = trained_parameters(dataset.config, job.trainable_layers)
        self._trainer = ModelTrainer(dataset, job.settings, strategy, trained=trained)
        self.evaluator = Evaluator(dataset, job.settings)
        self.progress = saved[1] if saved else Progress()
        self._begun = self.progress.step
        if saved:
            self._trainer.restore(saved[0])
        elif parent:
            self._trainer.set_parameters(inherited_values(parent.parameters, parent.config, dataset.config))
        elif heads := job.settings.same_token_heads:
            random = self._trainer.parameters()
            self._trainer.set_parameters(same_token_values(random, dataset.config, heads, job.settings.seed))

    @property
    def has_gone_on(self) -> bool:
        """Whether there was a step since this process goes on with the training."""
        return self.progress.step != self._begun

    @property
    def now(self) -> Resumable:
        """The state at this moment."""
        return Resumable(self.progress, self._finite_state)

    def events(self) -> Iterator[Event]:
        """Train until all epochs are over, or none is better any more; yield what happens.

        Raises:
            RunError: If the loss or a parameter is no number any more.
        """
        settings, progress = self._job.settings, self.progress
        if not progress.step and not progress.epoch:
            yield Untrained(self._untrained_metrics(), self._trainer.parameters)
        while progress.epoch < settings.epochs and progress.stale < settings.patience:
            yield from self._epoch()

    def _untrained_metrics(self):
        """Return the metrics of the untrained model, before the first step has been compiled."""
        self.evaluator.set_parameters(self._trainer.parameters())
        inputs, targets = next(self._dataset.batches(self._job.settings, 0))
        metrics = Totals(self.evaluator.measure(inputs, targets)).means()
        return metrics | (self.evaluator.validate(self._keep_going) if self._job.parent else {})

    def _epoch(self):
        """Train the rest of the current epoch, and validate it."""
        settings, progress, totals = self._job.settings, self.progress, Totals(self.progress.sums)
        last = settings.steps_per_epoch(self._dataset.num_rows)
        batches = self._dataset.batches(settings, progress.epoch)
        for inputs, targets in itertools.islice(batches, progress.batch, last):
            self._keep_going()
            yield self._step(inputs, targets, totals)
            if progress.batch < last:
                if self._is_probed():
                    yield self._probed()
                yield self.now
        yield self._probed()
        yield self._validated(totals)
        yield self.now

    def _step(self, inputs, targets, totals):
        progress, settings = self.progress, self._job.settings
        before = time.monotonic()
        rate = settings.learning_rate_at(progress.step, self._dataset.num_rows)
        measured = self._trainer.train(inputs, targets, rate)
        seconds = time.monotonic() - before
        self._check_finite(measured["loss"][0])
        totals.add(measured)
        progress.batch, progress.step, progress.sums = progress.batch + 1, progress.step + 1, totals.sums
        progress.seconds += seconds
        return Step(progress.step, measured, rate, seconds, progress.seconds)

    def _is_probed(self):
        """Return whether the probes are recorded after the current step."""
        step, every = self.progress.step, self._job.frame_steps
        return step == 1 or (every > 0 and step % every == 0)

    def _probed(self):
        self.evaluator.set_parameters(self._trainer.parameters())
        return Probed(self.progress.step, self.evaluator.traces(), self.evaluator.samples())

    def _validated(self, totals):
        """Validate the model, which the evaluator has, and begin the next epoch."""
        job, progress = self._job, self.progress
        metrics = totals.means() | self.evaluator.validate(self._keep_going)
        # workers may round differently
        metrics = json.loads(self._cluster.broadcast(json.dumps(metrics).encode()))
        value = metrics[f"val_{job.metric}"]
        value = [-value if job.metric in LOWER_IS_BETTER else value, -metrics["val_loss"]]
        is_best = progress.best is None or value > progress.best
        progress.best, progress.stale = (value, 0) if is_best else (progress.best, progress.stale + 1)
        progress.epoch, progress.batch, progress.sums = progress.epoch + 1, 0, {}
        return Epoch(
            progress.epoch, progress.step, is_best, progress.seconds, metrics, self._trainer.parameters
        )

    def _finite_state(self):
        state = self._trainer.state()
        self._check_finite(*(value for value in state.values() if value.dtype.kind == "f"))
        return state

    def _check_finite(self, *values):
        if not all(np.isfinite(value).all() for value in values):
            raise RunError("training.diverged", step=self.progress.step + 1)
