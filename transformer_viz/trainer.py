"""The process that trains, seen from outside: ready before it is needed, and left alone once it works."""

import contextlib
import subprocess
import sys
import threading

from transformer_viz.runs import TrainingJob, TrainingRun, create_run, list_runs, queued_runs, runs_folder

WORKER = "transformer_viz.training.worker"
"""Module the child runs."""


class Trainer:
    """Keeps one warm child waiting; `start` puts a run into the queue and tells it.

    The child owns its own session: neither a closed browser nor the end of this process stops a run. A child
    that has been told nothing ends with this process.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._child = None
        self._told = []
        self._closed = False

    def warm(self) -> None:
        """Start the child, and one for the runs that were left in the queue; return at once."""
        self._ready_child()
        if queued_runs():
            self._tell()

    def start(self, job: TrainingJob, *, title="") -> TrainingRun:
        """Put a new run into the queue; one that is running is waited for.

        Raises:
            RunError: If its folder cannot be written.
        """
        run = create_run(job, title=title)
        self._tell()
        return run

    def resume(self, run: TrainingRun) -> None:
        """Put a run that was stopped, interrupted or has failed into the queue again.

        Raises:
            RunError: If there is nothing to resume.
        """
        run.queue()
        self._tell()

    @property
    def pid(self) -> int | None:
        """Process id of the child that waits; None if there is none."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """End the child that waits; one that works is left alone."""
        with self._lock:
            child, self._child, self._closed = self._child, None, True
        if child:
            child.kill()
            child.wait()
            child.stdin.close()

    def _tell(self):
        """Send the waiting child to the queue; another waits in its place when it has ended."""
        child = self._ready_child()
        with self._lock:
            self._child = None
            self._told.append(child)
        with contextlib.suppress(OSError):  # it died while it waited: seen below
            child.stdin.write(b"\n")
            child.stdin.close()
        threading.Thread(target=self._see_to_the_end_of, args=(child,), daemon=True).start()

    def _see_to_the_end_of(self, child):
        """Wait for the child's end; see to what it left in the queue, and have another one wait."""
        died = child.wait() != 0
        self._told.remove(child)
        left = queued_runs()
        if self._closed:
            return
        if (
            died and left and any(run.pid == child.pid for run in list_runs())
        ):  # over a run: go on with the next
            self._tell()
        elif died and left and not self._told:
            log = runs_folder() / "worker.log"
            for run in left:
                run.append("failed", message=f"The training process does not start; {log} says why.")
        elif not self._told:
            self._ready_child()

    def _ready_child(self):
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._child = _spawn()
            return self._child


def _spawn():
    runs_folder().mkdir(parents=True, exist_ok=True)
    with (runs_folder() / "worker.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603  our own module
            [sys.executable, "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
