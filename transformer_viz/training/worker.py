"""The process that trains, started and told by `trainer.Trainer`.

It imports Keras and waits. A line on standard input says that there is something in the queue; it works off
the queue, one run after the other, and ends. What it does from then on depends on the runs' folder alone: it
goes on when whoever started it is gone. If nobody ever tells it anything, it ends with them.
"""

import contextlib
import os
import signal
import sys

from filelock import FileLock

from transformer_viz.runs import queued_runs, runs_folder
from transformer_viz.startup import load_upper_floor

POLITENESS = 5
"""How much this process yields to others (nice): pages stay quick while it trains."""


def main():
    """Wait for a word, work off the queue, end."""
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    job = load_upper_floor("training.job")
    if sys.stdin.readline():
        work_off_queue(job.work)


def work_off_queue(work) -> None:
    """Do every run that is queued, the oldest first, one at a time whatever other processes do."""
    with alone():
        while queued := queued_runs():
            with stopped_by_signals(queued[0]):
                work(queued[0])


@contextlib.contextmanager
def alone():
    """Wait until no other process trains here: two at once would each take more than twice as long.

    Processes that train one model together (TF_CONFIG) would wait for each other for ever, and do not.
    """
    if os.environ.get("TF_CONFIG"):
        yield
        return
    runs_folder().mkdir(parents=True, exist_ok=True)
    with FileLock(runs_folder() / ".lock"):
        yield


@contextlib.contextmanager
def stopped_by_signals(run):
    """Let Ctrl-C and a polite end of this process stop the run between two steps, all of it kept."""

    def stop(number, frame):
        run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
