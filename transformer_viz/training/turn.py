"""Until when a run may train: until it is asked to stop, or until another owner's run is next."""

import time

from transformer_viz.training.cluster import Cluster
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import queued_runs

TURN_SECONDS = 120
"""Time after which a run goes back to the queue if another owner's run waits."""

QUEUE_CHECK_SECONDS = 2
"""Interval between two looks at the queue."""


class Stopped(Exception):  # noqa: N818  not an error
    """The run was asked to stop."""


class TurnOver(Exception):  # noqa: N818  not an error
    """Another owner's run is next."""


class Turn:
    """The time that a run has before another owner's run is next.

    Args:
        run: The run.
        cluster: The machines that train it; a stop on one of them stops all.
    """

    def __init__(self, run: TrainingRun, cluster: Cluster):
        self._run, self._cluster = run, cluster
        self._begun = self._last_look = time.monotonic()

    def check(self, *, has_gone_on: bool = False) -> None:
        """Return if the run may train on.

        Args:
            has_gone_on: Whether it has taken a step in this turn; without, the turn is not over.

        Raises:
            Stopped: If it was asked to stop.
            TurnOver: If another owner's run is next.
            RunError: If another machine has failed.
        """
        if self._cluster.any_stop(self._run.stop_requested):
            raise Stopped
        if has_gone_on and self._is_over():
            raise TurnOver

    def _is_over(self):
        now, owner = time.monotonic(), self._run.owner
        if not owner or now < self._last_look + QUEUE_CHECK_SECONDS:
            return False
        self._last_look = now
        others = (run.owner != owner for run in queued_runs(self._run.path.parent))
        return now > self._begun + TURN_SECONDS and any(others)
