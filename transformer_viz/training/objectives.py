"""Training losses and metrics, each as (sum, count), so that parts of a batch add up to the whole."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from numpy.typing import ArrayLike

from transformer_viz.network.config import PAD_ID, TransformerConfig
from transformer_viz.questions.evaluation.cross_entropy import token_cross_entropy

ops: Any = keras.ops  # the stubs describe the tensors of another backend

Measured = dict[str, tuple[tf.Tensor, tf.Tensor]]
"""Name -> (sum, count), two scalars."""

Objective = Callable[[tf.Tensor, tf.Tensor], Measured]
"""Function of targets and logits that returns the loss and the metrics of a batch."""


def classification(
    config: TransformerConfig, label_smoothing: float = 0.0, weights: ArrayLike | None = None
) -> Objective:
    """Return the objective of a classifier.

    Args:
        config: `TransformerConfig`.
        label_smoothing: Share of the target spread over all labels (Szegedy et al., 2016).
        weights: float (label,), by which the loss of a row counts; None: all count alike.

    Returns:
        Function of label ids, int (row,), and logits: name -> (sum, count) of loss and accuracy.
    """

    def measure(label_ids, logits):
        logits = ops.cast(logits, "float32")
        if config.output == "sigmoid":  # a single logit z is the softmax of (0, z)
            logits = ops.concatenate([ops.zeros_like(logits), logits], axis=-1)
        loss = cross_entropy(label_ids, logits, label_smoothing)
        right = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), label_ids)
        rows = ops.cast(ops.shape(label_ids)[0], "float32")
        counted = rows
        if weights is not None:
            share = ops.take(ops.convert_to_tensor(weights, "float32"), label_ids)
            loss, counted = share * loss, ops.sum(share)
        return {"loss": (ops.sum(loss), counted), "accuracy": (_count(right), rows)}

    return measure


def next_token(label_smoothing: float = 0.0) -> Objective:
    """Return the objective of a decoder: the next token at every position, [PAD] left out.

    The mean is over the tokens of a batch, so that long texts count more (label smoothing: Vaswani et al.,
    2017, section 5.4).

    Returns:
        Function of token ids, int (row, position), and logits: name -> (sum, count) of loss, token_accuracy
        and exact_match, the share of texts in which every token is the likeliest one given those before it,
        which are the texts that greedy decoding reproduces.
    """

    def measure(token_ids, logits):
        logits = ops.cast(logits, "float32")
        real = ops.not_equal(token_ids, PAD_ID)
        right = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), token_ids)
        loss = ops.where(real, cross_entropy(token_ids, logits, label_smoothing), 0.0)
        exact = ops.all(ops.logical_or(right, ops.logical_not(real)), axis=-1)
        return {
            "loss": (ops.sum(loss), _count(real)),
            "token_accuracy": (_count(ops.logical_and(right, real)), _count(real)),
            "exact_match": (_count(exact), ops.cast(ops.shape(exact)[0], "float32")),
        }

    return measure


def running_text(label_smoothing: float = 0.0) -> Objective:
    """Return the objective of running text: the next or the masked tokens, [PAD] left out.

    Returns:
        Function of token ids, int (row, position), and logits: name -> (sum, count) of loss, perplexity (the
        cross-entropy in nats; perplexity is exp of its mean) and token_accuracy.
    """

    def measure(token_ids, logits):
        logits = ops.cast(logits, "float32")
        real = ops.not_equal(token_ids, PAD_ID)
        nats, right = token_cross_entropy(logits, token_ids)
        loss = cross_entropy(token_ids, logits, label_smoothing) if label_smoothing else nats
        count = _count(real)
        return {
            "loss": (ops.sum(ops.where(real, loss, 0.0)), count),
            "perplexity": (ops.sum(ops.where(real, nats, 0.0)), count),
            "token_accuracy": (_count(ops.logical_and(right, real)), count),
        }

    return measure


def cross_entropy(targets: tf.Tensor, logits: tf.Tensor, label_smoothing: float = 0.0) -> tf.Tensor:
    """Return the cross-entropy of each target: float32 (...).

    Args:
        targets: int (...).
        logits: float32 (..., choice).
        label_smoothing: Share of the target spread over all choices.
    """
    if not label_smoothing:
        return ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
    choices = ops.shape(logits)[-1]
    target = ops.one_hot(targets, choices) * (1 - label_smoothing) + label_smoothing / choices
    return ops.categorical_crossentropy(target, logits, from_logits=True)


def _count(true):
    return ops.sum(ops.cast(true, "float32"))
