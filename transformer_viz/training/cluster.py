"""Coordination of the workers that train one model together (TF_CONFIG), apart from the gradients."""

import contextlib

import numpy as np
import tensorflow as tf

from transformer_viz.training.runs.errors import RunError


class Cluster:
    """Collective operations of the workers; on a single machine each returns its own input.

    Every worker calls the same methods in the same order: a call waits for all others.

    Args:
        strategy: `tf.distribute.Strategy`; None: one device.

    Attributes:
        is_chief: Whether this worker's checkpoint and metrics count and its model is written.
    """

    def __init__(self, strategy: tf.distribute.Strategy | None = None):
        resolver = strategy.cluster_resolver if strategy else None
        self.is_chief = resolver is None or resolver.task_id == 0
        self._is_single = resolver is None
        if resolver is not None:
            self._total = _int64_sum(strategy)

    def any_stop(self, stop: bool) -> bool:
        """Return whether any worker was asked to stop.

        Args:
            stop: Whether this one was.

        Raises:
            RunError: If another worker has failed.
        """
        if self._is_single:
            return stop
        stops, failures = self._total([stop, 0])
        if failures:
            self.leave()
            raise RunError("training.other_machine")
        return stops > 0

    def report_failure(self) -> None:
        """Make the next `any_stop` of the other workers fail."""
        if not self._is_single:
            with contextlib.suppress(tf.errors.OpError):  # they have failed as well
                self._total([0, 1])

    def leave(self) -> None:
        """Go on alone: from here on there are no collective operations."""
        self._is_single = True

    def broadcast(self, data: bytes) -> bytes:
        """Return the chief's bytes on every worker.

        Args:
            data: Ignored on all workers but the chief.
        """
        if self._is_single:
            return data
        data = data if self.is_chief else b""
        [size] = self._total([len(data)])
        # at least one word: TensorFlow crashes on an empty sum
        words = np.zeros(1 + int(size) // 8, np.int64)
        words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
        return self._total(words).tobytes()[:size]


def _int64_sum(strategy):
    """Return a function that sums an int64 array over all workers; each of them gets the same result."""
    devices = len(strategy.extended.worker_devices)  # local devices, one replica each

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
