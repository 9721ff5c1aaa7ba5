"""The model in training: one step at a time, with a state that can be saved and restored."""

import contextlib
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_viz.explorer.forward import CompiledFunction
from transformer_viz.network.fine_tuning import alike_groups, are_alike, learning_rate_factors
from transformer_viz.network.model import Transformer
from transformer_viz.training.dataset import Dataset, Inputs
from transformer_viz.training.objectives import Measured
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.settings import TrainingSettings

ops: Any = keras.ops  # the stubs describe the tensors of another backend

UNDECAYED = ("bias", "gamma", "beta")
"""Parameters without weight decay: biases, and scale and shift of layer normalisation."""


class ModelTrainer:
    """Train a model one batch at a time.

    A batch split over several devices gives the same parameters as on one: each device sums over its rows,
    and the sums are divided by the counts of the whole batch. Blocks that begin with equal parameters, as
    those of an ALBERT do, stay equal to the bit.

    Args:
        dataset: `Dataset`.
        settings: `TrainingSettings`.
        strategy: `tf.distribute.Strategy`; None: one device.
        trained: Names of the parameters to train; the others are frozen: they have no gradient and no state
            of the optimizer, and stay equal to the bit. None: all are trained.

    Attributes:
        model: `Transformer`.
    """

    def __init__(
        self,
        dataset: Dataset,
        settings: TrainingSettings,
        strategy: tf.distribute.Strategy | None = None,
        *,
        trained: Collection[str] | None = None,
    ):
        self._strategy = strategy or tf.distribute.get_strategy()
        self._count = self._strategy.num_replicas_in_sync
        self._objective = dataset.objective(settings)
        self._uses_average = settings.average > 0
        keras.utils.set_random_seed(settings.seed)
        with self._strategy.scope(), _precision(settings.precision):
            self.model = Transformer(dataset.config)
            for name, variable in self.model.parameters().items():
                if trained is not None and name not in trained:
                    variable.trainable = False
            self.optimizer = optimizer(settings, self._count, self._rate_factors(settings.layer_decay))
            self.optimizer.build(self.model.trainable_variables)
        self._alike: list[list[int]] = []
        self._train = CompiledFunction(self._train_step, dataset.signature)

    def set_parameters(self, parameters: Mapping[str, np.ndarray]) -> None:
        """Set some parameters before the first step: name -> array."""
        variables = self.model.parameters()
        for name, value in parameters.items():
            variables[name].assign(value)
        self._find_alike()

    def _rate_factors(self, decay):
        """Return the factor of the learning rate of each trained variable."""
        factors, named = learning_rate_factors(self.model.config, decay), self.model.parameters()
        by_path = {variable.path: factors[name] for name, variable in named.items()}
        return [by_path[variable.path] for variable in self.model.trainable_variables]

    def _find_alike(self):
        """Find the trained variables that are one, if all blocks are alike."""
        config, parameters = self.model.config, self._parameters()
        trained = {variable.path: place for place, variable in enumerate(self.model.trainable_variables)}
        paths = {name: variable.path for name, variable in self.model.parameters().items()}
        groups = [[trained.get(paths[name], -1) for name in names] for names in alike_groups(config)]
        is_whole = all(-1 not in group for group in groups)
        self._alike = groups if is_whole and are_alike(parameters, config) else []

    def train(
        self, inputs: Inputs, targets: np.ndarray, learning_rate: float
    ) -> dict[str, tuple[float, float]]:
        """Train one step; return name -> (sum, count) of loss, metrics and tokens."""
        self.optimizer.learning_rate = learning_rate
        return to_floats(self._train(inputs, targets))

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the parameters to validate and store: the current ones, or their moving averages."""
        adam: Any = getattr(self.optimizer, "inner_optimizer", self.optimizer)
        steps = ops.convert_to_numpy(adam.iterations)
        if not (self._uses_average and steps):  # before the first step the averages are 0
            return self._parameters()
        variables = self.model.trainable_variables
        raw = [ops.convert_to_numpy(variable) for variable in variables]
        self.optimizer.finalize_variable_values(variables)
        averages = self._parameters()
        for variable, value in zip(variables, raw, strict=True):
            variable.assign(value)
        return averages

    def state(self) -> dict[str, np.ndarray]:
        """Return all variables that training depends on: of the model, the optimizer and dropout."""
        return {name: ops.convert_to_numpy(variable) for name, variable in self._variables().items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore what `state` returned.

        Raises:
            RunError: If it belongs to another model.
        """
        variables = self._variables()
        if {name: value.shape for name, value in state.items()} != {
            name: tuple(variable.shape) for name, variable in variables.items()
        }:
            raise RunError("training.other_model")
        for name, variable in variables.items():
            variable.assign(state[name])
        self._find_alike()

    def _parameters(self):
        return {name: ops.convert_to_numpy(value) for name, value in self.model.parameters().items()}

    def _variables(self):
        everything = [*self.model.variables, *self.optimizer.variables]
        # numbered, since names differ between processes
        return {f"{number:04d}": variable for number, variable in enumerate(everything)}

    def _train_step(self, inputs, targets):
        """Train one step on all devices; return the metrics summed over them."""
        if self._count == 1:
            return self._replica_step(inputs, targets)
        measured = self._strategy.run(self._replica_step, (inputs, targets))
        copies = self._strategy.experimental_local_results
        return tf.nest.map_structure(lambda number: copies(number)[0], measured)

    def _replica_step(self, inputs, targets):
        replica = tf.distribute.get_replica_context()
        if self._count > 1:
            inputs, targets = tf.nest.map_structure(
                lambda tensor: tensor[replica.replica_id_in_sync_group :: self._count], (inputs, targets)
            )
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            measured = self._objective(targets, self.model(inputs, training=True))
            total = measured["loss"][0]
            measured["tokens"] = _tokens(inputs, self.model.config.pad_id), ops.ones(())
            if self._count > 1:
                measured = self._summed_over_replicas(measured)
            loss = self.optimizer.scale_loss(total / ops.maximum(measured["loss"][1], 1.0))
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        # the gradient of an embedding is IndexedSlices, which Keras would square and clip token by token
        gradients = [*map(tf.convert_to_tensor, gradients)]
        if self._count > 1:
            # Keras sums them again after clipping; `optimizer` scales the norm accordingly
            gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
            gradients = [gradient / self._count for gradient in gradients]
        for group in self._alike:
            together = tf.add_n([gradients[place] for place in group])
            for place in group:
                gradients[place] = together
        self.optimizer.apply(gradients, variables)
        return measured

    def _summed_over_replicas(self, measured):
        """Return the metrics summed over all devices, in one all-reduce."""
        packed = tf.stop_gradient(tf.stack(tf.nest.flatten(measured)))
        packed = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, packed)
        return tf.nest.pack_sequence_as(measured, tf.unstack(packed))


class LayerwiseAdam(keras.optimizers.Adam):
    """Adam with a learning rate of its own for each variable.

    Args:
        learning_rate: As for Adam.
        factors: Factor of the learning rate of each variable.
        **kwargs: Further arguments of Adam.
    """

    def __init__(self, learning_rate: float, *, factors: Sequence[float], **kwargs: Any):
        super().__init__(learning_rate, **kwargs)
        self._factors = factors

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one variable."""
        place = self._get_variable_index(variable)
        super().update_step(gradient, variable, learning_rate * self._factors[place])


def optimizer(
    settings: TrainingSettings, num_devices: int = 1, factors: Sequence[float] = ()
) -> keras.optimizers.Optimizer:
    """Return Adam, or AdamW with a weight decay.

    Args:
        settings: `TrainingSettings`.
        num_devices: Devices that each contribute an equal share of the gradients; the clipping norm is
            divided by it.
        factors: Factor of the learning rate of each trained variable, for `layer_decay`.
    """
    kind: Any = (
        functools.partial(LayerwiseAdam, factors=factors) if settings.layer_decay else keras.optimizers.Adam
    )
    average = {"use_ema": True, "ema_momentum": settings.average} if settings.average else {}
    adam = kind(
        settings.learning_rate,
        beta_2=settings.beta_2,
        weight_decay=settings.weight_decay or None,  # 0.0 would still touch all parameters
        global_clipnorm=settings.clip_norm / num_devices or None,
        **average,
    )
    adam.exclude_from_weight_decay(var_names=UNDECAYED)
    return keras.optimizers.LossScaleOptimizer(adam) if settings.precision == "float16" else adam


@contextlib.contextmanager
def _precision(name):
    """Create layers with that compute precision and float32 parameters."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name if name == "float32" else f"mixed_{name}")
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _tokens(inputs: Any, pad_id: int) -> Any:
    """Return the number of input tokens without padding."""
    texts = [inputs["token_ids"]] if isinstance(inputs, dict) else tf.nest.flatten(inputs)
    return sum(ops.sum(ops.cast(ops.not_equal(token_ids, pad_id), "float32")) for token_ids in texts)


def to_floats(measured: Measured) -> dict[str, tuple[float, float]]:
    """Return name -> (sum, count) as Python floats."""
    return {name: (float(total), float(count)) for name, (total, count) in measured.items()}
