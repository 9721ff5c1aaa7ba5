"""The process that trains, seen from outside: ready before it is needed, and left alone once it works."""

import contextlib
import subprocess
import sys
import threading

from transformer_viz.runs import (
    RunError,
    TrainingJob,
    TrainingRun,
    check_runs_folder,
    create_run,
    queued_runs,
    runs_folder,
)
from transformer_viz.runs.errors import writing

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
        self._told = None
        self._closed = False

    def warm(self) -> None:
        """Have a child wait, or see to the runs that were left in the queue; return at once.

        Raises:
            RunError: If runs cannot be kept, or no process can be started.
        """
        check_runs_folder()
        if queued_runs():
            self._tell()
        with self._lock:
            if self._told is None:
                self._ready_child()

    def start(self, job: TrainingJob, *, title="") -> TrainingRun:
        """Put a new run into the queue; one that is running is waited for.

        Raises:
            RunError: If its folder cannot be written.
        """
        run = create_run(job, title=title)
        self._tell()
        return run

    def resume(self, run: TrainingRun, *, anew=False) -> None:
        """Put a run that was stopped, interrupted or has failed into the queue again.

        Args:
            run: The run.
            anew: Begin from its beginning instead of its checkpoint.

        Raises:
            RunError: If there is nothing to resume, or the run cannot be written.
        """
        if anew:
            run.begin_anew()
        else:
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
        """Send the waiting child to the queue, unless one is at it: that one sees what comes in meanwhile."""
        with self._lock:
            queued = queued_runs()
            if self._told is not None or self._closed or not queued:
                return
            child, self._child = self._ready_child(), None
            self._told = child
        with contextlib.suppress(OSError):  # it died while it waited: seen at its end
            child.stdin.write(b"\n")
            child.stdin.close()
        threading.Thread(target=self._see_to_the_end, args=(child, queued[0]), daemon=True).start()

    def _see_to_the_end(self, child, first):
        """Wait for the child's end, see to what it left in the queue, and have another one wait."""
        child.wait()
        with self._lock:
            self._told = None
        if first in queued_runs() and first.pid != child.pid:  # never begun: nor would another child begin it
            log = runs_folder() / "worker.log"
            with contextlib.suppress(OSError):
                first.append("failed", message=f"The training process does not start; {log} says why.")
        self._tell()
        with self._lock:
            if self._told is None and not self._closed:
                self._ready_child()

    def _ready_child(self):
        """Return the child that waits, a new one if there is none; to be called with the lock held."""
        if self._child is None or self._child.poll() is not None:
            self._child = _spawn()
        return self._child


def _spawn():
    check_runs_folder()
    with writing(runs_folder()):
        log = (runs_folder() / "worker.log").open("ab")
    with log:
        try:
            return subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(
                f"No process can be started to train: {error.strerror}. Close other programs, and try again."
            ) from None
