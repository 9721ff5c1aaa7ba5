"""The process that trains, seen from outside: ready before it is needed, and left alone once it works."""

import subprocess
import sys
import threading

from transformer_viz.runs import TrainingJob, TrainingRun, create_run, queued_runs, runs_folder


class Trainer:
    """Keeps one warm child waiting; `start` puts a run into the queue and tells it.

    The child owns its own session: neither a closed browser nor the end of this process stops a run. A child
    that has been told nothing ends with this process.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._child = None
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
        """Let go of the child: it ends if it was told nothing."""
        with self._lock:
            child, self._child, self._closed = self._child, None, True
        if child:
            child.stdin.close()

    def _tell(self):
        """Send the waiting child to the queue; another waits in its place when it has ended."""
        child = self._ready_child()
        try:
            child.stdin.write(b"\n")
            child.stdin.close()
        except OSError:  # it died while it waited
            child = self._ready_child()
            child.stdin.write(b"\n")
            child.stdin.close()
        with self._lock:
            self._child = None
        waiting = len(queued_runs())
        threading.Thread(target=self._replace, args=(child, waiting), daemon=True).start()

    def _replace(self, child, waiting):
        """Wait for the child's end; see to what it left in the queue, and have another one wait."""
        failed, left = child.wait() != 0, queued_runs()
        if self._closed:
            return
        if (
            failed and left and len(left) < waiting
        ):  # it died over one of them: the others are still to be done
            self._tell()
            return
        for run in left if failed else ():
            log = runs_folder() / "worker.log"
            run.append("failed", message=f"The training process does not start; {log} says why.")
        self._ready_child()

    def _ready_child(self):
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._child = _spawn()
            return self._child


def _spawn():
    runs_folder().mkdir(parents=True, exist_ok=True)
    with (runs_folder() / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "transformer_viz.training.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
