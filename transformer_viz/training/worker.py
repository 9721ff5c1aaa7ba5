"""The training process, started by `service.trainer.Trainer`.

It imports Keras and waits for a line on standard input; then it works through the queue, one run at a time,
and exits. From then on it depends on the folder of runs alone and outlives its parent process; while it
waits, it exits with its parent.
"""

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator

from filelock import FileLock, Timeout

from transformer_viz.network.startup import import_with_keras
from transformer_viz.training.runs.errors import RunError, write_errors
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import QUOTA, check_runs_folder, queued_runs, runs_folder

NICENESS = 5
"""Nice value of this process: pages stay responsive while it trains."""

WAIT_SECONDS = 1
"""Seconds between two looks at whether another process still trains."""


def main() -> None:
    """Wait for a line on standard input, then work through the queue."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    job = import_with_keras("training.job")
    if sys.stdin.readline():
        work_off_queue(functools.partial(job.work, quota=QUOTA))


def work_off_queue(work: Callable[[TrainingRun], None]) -> None:
    """Train every queued run in turn, one at a time across all processes.

    A run whose failure cannot be logged stays in the queue and is skipped.
    """
    given_up = set()
    with training_lock():
        while queued := [run for run in queued_runs() if run not in given_up]:
            with stopped_by_signals(queued[0]):
                try:
                    work(queued[0])
                except RunError as error:
                    print(error, file=sys.stderr)
                    given_up.add(queued[0])


@contextlib.contextmanager
def training_lock(waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Wait until no other process trains here: two at once would each take more than twice as long.

    Processes that train one model together (TF_CONFIG) skip the lock: they would wait for each other forever.

    Args:
        waiting: Called every `WAIT_SECONDS` while another one trains; may raise to wait no longer.

    Raises:
        UnwritableError: If the folder of runs cannot be written.
    """
    if os.environ.get("TF_CONFIG"):
        yield
        return
    check_runs_folder()
    lock = FileLock(runs_folder() / ".lock")
    while not _is_acquired(lock):
        waiting()
    try:
        yield
    finally:
        lock.release()


def _is_acquired(lock):
    with write_errors(runs_folder()):
        try:
            lock.acquire(timeout=WAIT_SECONDS)
        except Timeout:
            return False
    return True


@contextlib.contextmanager
def stopped_by_signals(run: TrainingRun) -> Iterator[None]:
    """On SIGINT and SIGTERM, stop the run after the current step and keep its checkpoint."""

    def stop(number, frame):
        with contextlib.suppress(RunError):  # if nothing can be written, training fails by itself
            run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
