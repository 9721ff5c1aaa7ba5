"""Fitting a classifier: loss, schedule, early stopping on validation, best epoch kept."""

import math

import keras
import numpy as np
import tensorflow as tf

from transformer_viz.batches import by_length, pad, shuffled_by_length
from transformer_viz.config import PAD_ID, UNK_ID
from transformer_viz.model import Transformer

SHORTEST_CROP = 8
"""Tokens of the shortest part of a text that is trained on."""


def fit_classifier(config, settings, train, validation, *, verbose=1):
    """Train a new model and return it as it was at its best epoch.

    Args:
        config: `TransformerConfig`.
        settings: `TrainingSettings`.
        train: (token_ids, label_ids): a list of int arrays, and int (row,).
        validation: The same, held out.
        verbose: As in `keras.Model.fit`: 1 a progress bar, 2 a line for each epoch, 0 silence.

    Returns:
        The `Transformer`, and its history: one dict for each epoch with loss, accuracy, val_loss and
        val_accuracy.

    Raises:
        ValueError: If the loss is no longer a number.
    """
    return fit(
        config,
        settings,
        training_batches(config, settings, *train),
        validation_batches(config, settings, *validation),
        num_rows=len(train[0]),
        monitor="val_accuracy",
        verbose=verbose,
        **objective(config, settings.label_smoothing),
    )


def fit(config, settings, training, validation, *, num_rows, monitor, verbose, **objective):
    """Train a new model on any batches and return it as it was at its best epoch.

    Args:
        config: `TransformerConfig`.
        settings: `TrainingSettings`.
        training: `tf.data.Dataset` of (inputs, answers).
        validation: The same, held out.
        num_rows: Rows of an epoch.
        monitor: Name of the figure that says which epoch was best; higher is better.
        verbose: As in `keras.Model.fit`.
        **objective: Loss and metrics, as arguments of `compile`.

    Returns:
        The `Transformer`, and its history: one dict for each epoch.

    Raises:
        ValueError: If the loss is no longer a number.
    """
    keras.utils.set_random_seed(settings.seed)
    model = Transformer(config)
    callbacks = [
        keras.callbacks.TerminateOnNaN(raise_error=True),
        keras.callbacks.EarlyStopping(
            monitor=monitor, mode="max", patience=settings.patience, restore_best_weights=True
        ),
    ]
    if settings.average:
        callbacks.insert(0, keras.callbacks.SwapEMAWeights(swap_on_epoch=True))
    model.compile(optimizer(settings, num_rows), **objective)
    try:
        history = model.fit(
            training,
            validation_data=validation,
            epochs=settings.epochs,
            callbacks=callbacks,
            shuffle=False,  # the batches come shuffled
            verbose=verbose,
        ).history
    except RuntimeError as error:
        if "NaN" not in str(error):
            raise
        raise ValueError("The loss is no longer a number. Lower the learning rate.") from None
    epochs = zip(*history.values(), strict=True)
    return model, [dict(zip(history, map(float, epoch), strict=True)) for epoch in epochs]


def training_batches(config, settings, token_ids, label_ids):
    """Return batches in another order each epoch, words hidden as `settings.word_dropout` says."""
    random = np.random.default_rng(settings.seed)
    expected = targets(config, label_ids)

    def epoch():
        parts = [crop(ids, random) if random.random() < settings.crop else ids for ids in token_ids]
        for rows in shuffled_by_length(parts, settings.batch_size, random):
            ids = pad([parts[row] for row in rows])
            hidden = (random.random(ids.shape) < settings.word_dropout) & (ids != PAD_ID)
            yield np.where(hidden, UNK_ID, ids), expected[rows]

    return dataset(epoch, signature(config), math.ceil(len(token_ids) / settings.batch_size))


def crop(token_ids, random):
    """Return a random part of a text: its length log-uniform from `SHORTEST_CROP` tokens to all of them."""
    longest = max(len(token_ids), 1)
    length = round(np.exp(random.uniform(np.log(min(SHORTEST_CROP, longest)), np.log(longest))))
    start = random.integers(longest - length + 1)
    return token_ids[start : start + length]


def validation_batches(config, settings, token_ids, label_ids):
    """Return batches that are the same each time."""
    expected = targets(config, label_ids)

    def epoch():
        for rows in by_length(token_ids, settings.batch_size):
            yield pad([token_ids[row] for row in rows]), expected[rows]

    return dataset(epoch, signature(config), math.ceil(len(token_ids) / settings.batch_size))


def optimizer(settings, num_rows):
    """Return AdamW with linear warm-up and cosine decay (Loshchilov and Hutter, 2017)."""
    warmup = settings.warmup_steps(num_rows)
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0 if warmup else settings.learning_rate,
        max(1, settings.total_steps(num_rows) - warmup),
        warmup_target=settings.learning_rate if warmup else None,
        warmup_steps=warmup,
    )
    average = {"use_ema": True, "ema_momentum": settings.average} if settings.average else {}
    return keras.optimizers.AdamW(
        schedule, beta_2=settings.beta_2, weight_decay=settings.weight_decay, **average
    )


def objective(config, label_smoothing=0.0):
    """Return the loss and the metric that fit the config's output, as arguments of `compile`."""
    if config.output == "sigmoid":
        return {
            "loss": keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=label_smoothing),
            "metrics": [keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0)],
        }
    return {
        "loss": keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=label_smoothing),
        "metrics": [keras.metrics.CategoricalAccuracy(name="accuracy")],
    }


def targets(config, label_ids) -> np.ndarray:
    """Return float32 (row, num_outputs): one-hot rows, or a single column of 0 and 1 for a sigmoid."""
    if config.output == "sigmoid":
        return np.asarray(label_ids, dtype=np.float32)[:, None]
    return np.eye(config.num_outputs, dtype=np.float32)[label_ids]


def signature(config):
    """Return the open shapes of a classifier's batches, so that those of any width share one compilation."""
    return tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, config.num_outputs), tf.float32)


def dataset(epoch, shapes, num_batches):
    """Return the batches of a generator function as a dataset that knows its length."""
    batches = tf.data.Dataset.from_generator(epoch, output_signature=shapes)
    return batches.apply(tf.data.experimental.assert_cardinality(num_batches)).prefetch(2)
