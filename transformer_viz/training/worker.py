"""The process that trains, started and told by `trainer.Trainer`.

It imports Keras and waits. A line on standard input says that there is something in the queue; it works off
the queue, one run after the other, and ends. What it does from then on depends on the runs' folder alone: it
goes on when whoever started it is gone. If nobody ever tells it anything, it ends with them.
"""

import contextlib
import functools
import os
import signal
import sys

from filelock import FileLock

from transformer_viz.network.startup import load_upper_floor
from transformer_viz.runs import RunError, check_runs_folder, queued_runs, runs_folder
from transformer_viz.runs.errors import write_errors
from transformer_viz.runs.listing import QUOTA

NICENESS = 5
"""How much this process yields to others (nice): pages stay quick while it trains."""


def main():
    """Wait for a word, work off the queue, end."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    job = load_upper_floor("training.job")
    if sys.stdin.readline():
        work_off_queue(functools.partial(job.work, quota=QUOTA))


def work_off_queue(work) -> None:
    """Do every run that is queued, in their turns, one at a time whatever other processes do.

    A run that cannot even be said to have failed is left in the queue, and the next one done.
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
def training_lock():
    """Wait until no other process trains here: two at once would each take more than twice as long.

    Processes that train one model together (TF_CONFIG) would wait for each other for ever, and do not.

    Raises:
        UnwritableError: If the folder of runs cannot be written.
    """
    if os.environ.get("TF_CONFIG"):
        yield
        return
    check_runs_folder()
    lock = FileLock(runs_folder() / ".lock")
    with write_errors(runs_folder()):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def stopped_by_signals(run):
    """Let Ctrl-C and a polite end of this process stop the run between two steps, all of it kept."""

    def stop(number, frame):
        with contextlib.suppress(RunError):  # where nothing can be written, training ends of itself
            run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
