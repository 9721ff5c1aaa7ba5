"""The machines that train one model together, and what they have to agree on beside the gradients."""

import contextlib

import numpy as np
import tensorflow as tf

from transformer_viz.runs import RunError


class Cluster:
    """What one machine says to the others; on a machine by itself nothing is said.

    Every question is put by all machines, as often and in the same order: whoever asks waits for the others.

    Args:
        strategy: `tf.distribute.Strategy`; None: one device.

    Attributes:
        is_chief: Whether this machine's checkpoint and figures count, and its model is written.
    """

    def __init__(self, strategy=None):
        resolver = strategy.cluster_resolver if strategy else None
        self.is_chief = resolver is None or resolver.task_id == 0
        self._is_single = resolver is None
        if resolver is not None:
            self._total = _int64_sum(strategy)

    def any_stop(self, stop) -> bool:
        """Return whether any machine was asked to stop.

        Args:
            stop: Whether this one was.

        Raises:
            RunError: If another machine cannot go on.
        """
        if self._is_single:
            return stop
        stops, failures = self._total([stop, 0])
        if failures:
            self._is_single = True
            raise RunError("training.other_machine")
        return stops > 0

    def report_failure(self) -> None:
        """Let the others know, where they next agree, that this machine cannot go on."""
        if not self._is_single:
            with contextlib.suppress(tf.errors.OpError):  # they have gone, too
                self._total([0, 1])

    def broadcast(self, data) -> bytes:
        """Return the first machine's bytes, on all machines.

        Args:
            data: bytes; only the first machine's count.
        """
        if self._is_single:
            return data
        data = data if self.is_chief else b""
        [size] = self._total([len(data)])
        words = np.zeros(1 + int(size) // 8, np.int64)  # TensorFlow crashes over a sum of no words
        words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
        return self._total(words).tobytes()[:size]


def _int64_sum(strategy):
    """Return a function that adds up int64 words over the machines; its answer is the same on all of them."""
    devices = len(strategy.extended.worker_devices)  # of this machine, each of them a replica

    def replica_sum(words):
        replica = tf.distribute.get_replica_context()
        is_counted = tf.cast(replica.replica_id_in_sync_group % devices == 0, tf.int64)
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, words * is_counted)

    cluster_sum = tf.function(
        lambda words: strategy.run(replica_sum, (words,)),
        input_signature=[tf.TensorSpec((None,), tf.int64)],
        autograph=False,
    )

    def total(words):
        summed = cluster_sum(tf.constant(np.asarray(words, np.int64)))
        return strategy.experimental_local_results(summed)[0].numpy()

    return total
