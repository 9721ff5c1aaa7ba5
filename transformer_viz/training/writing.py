"""Fitting a decoder: the next token at every position, [PAD] left out."""

import math

import numpy as np
import tensorflow as tf
from keras import ops

from transformer_viz.batches import by_length, pad, shuffled_by_length
from transformer_viz.config import END_ID, PAD_ID, START_ID
from transformer_viz.training.fit import dataset, fit


def fit_writer(config, settings, train, validation, *, verbose=1):
    """Train a new encoder-decoder or decoder and return it as it was at its best epoch.

    Args:
        config: `TransformerConfig`.
        settings: `TrainingSettings`.
        train: (source_ids, target_ids), a list of int arrays each, without [START] and [END]; for a decoder
            alone source_ids is None.
        validation: The same, held out.
        verbose: As in `keras.Model.fit`.

    Returns:
        The `Transformer`, and its history: one dict for each epoch with loss, token_accuracy, exact_match
        and the same of the validation rows. `exact_match` is the share of targets in which every token is
        the likeliest one, given those before it: just those that greedy generation writes without a mistake.

    Raises:
        ValueError: If the loss is no longer a number.
    """
    exact = config.has_encoder  # a decoder alone cannot know how a text begins
    return fit(
        config,
        settings,
        _batches(settings, train, shuffled=True),
        _batches(settings, validation, shuffled=False),
        num_rows=len(train[1]),
        monitor="val_exact_match" if exact else "val_token_accuracy",
        verbose=verbose,
        loss=token_loss(settings.label_smoothing),
        metrics=[token_accuracy, exact_match],
    )


def token_loss(label_smoothing=0.0):
    """Return the loss: cross-entropy of each real token, its target smoothed over the vocabulary.

    The mean is over the tokens of a batch, so that a long text counts more than a short one (Vaswani et al.,
    2017, section 5.4, for the smoothing).
    """

    def loss(answers, logits):
        log_probs = ops.log_softmax(logits, axis=-1)
        answers = ops.cast(answers, "int32")
        right = ops.take_along_axis(log_probs, answers[..., None], axis=-1)[..., 0]
        smoothed = (1 - label_smoothing) * right + label_smoothing * ops.mean(log_probs, axis=-1)
        real = ops.cast(ops.not_equal(answers, PAD_ID), smoothed.dtype)
        return -ops.sum(smoothed * real) / ops.maximum(ops.sum(real), 1.0)

    return loss


def token_accuracy(answers, logits):
    """Return the share of right tokens of each text: float (batch,)."""
    right, real = _right(answers, logits)
    real = ops.cast(real, "float32")
    return ops.sum(ops.cast(right, "float32") * real, axis=-1) / ops.maximum(ops.sum(real, axis=-1), 1.0)


def exact_match(answers, logits):
    """Return whether all tokens of each text are right: float (batch,)."""
    right, real = _right(answers, logits)
    return ops.cast(ops.all(ops.logical_or(right, ops.logical_not(real)), axis=-1), "float32")


def _right(answers, logits):
    answers = ops.cast(answers, "int32")
    chosen = ops.cast(ops.argmax(logits, axis=-1), "int32")
    return ops.equal(chosen, answers), ops.not_equal(answers, PAD_ID)


def _batches(settings, rows, *, shuffled):
    """Return batches of ((source, [START] target), target [END]), or without the source."""
    source_ids, target_ids = rows
    random = np.random.default_rng(settings.seed)
    lengths = target_ids if source_ids is None else source_ids

    def epoch():
        if shuffled:
            batches = shuffled_by_length(lengths, settings.batch_size, random)
        else:
            batches = by_length(lengths, settings.batch_size)
        for batch in batches:
            before = pad([[START_ID, *target_ids[row]] for row in batch])
            answers = pad([[*target_ids[row], END_ID] for row in batch])
            yield before if source_ids is None else (pad([source_ids[row] for row in batch]), before), answers

    ids = tf.TensorSpec((None, None), tf.int32)
    inputs = ids if source_ids is None else (ids, ids)
    return dataset(epoch, (inputs, ids), math.ceil(len(target_ids) / settings.batch_size))
