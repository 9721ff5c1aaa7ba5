"""Manager of the training process: starts it before it is needed and leaves it alone while it trains."""

import contextlib
import subprocess
import sys
import threading
import time

from transformer_viz.training.runs.errors import RunError, failure, write_errors
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import (
    QUOTA,
    check_runs_folder,
    create_run,
    list_runs,
    queue_run,
    queued_runs,
    runs_folder,
)
from transformer_viz.training.runs.uploads import sweep_runs

WORKER = "transformer_viz.training.worker"
"""Module of the child process."""

IDLE_SECONDS = 5 * 60
"""Seconds after which an idle child is ended: with TensorFlow loaded it holds 800 MB."""


class Trainer:
    """Keeps one child process ready, and sends it to the queue when a run is started.

    A training child runs in a session of its own and outlives the browser and this process. An idle child
    ends with this process, or after a while without requests.

    Args:
        idle_seconds: Lifetime of an idle child.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS):
        self._lock = threading.Lock()
        self._child = None
        self._working_child = None
        self._closed = False
        self._skipped = {}
        self._idle_seconds, self._last_asked = idle_seconds, 0.0
        self._is_swept = False

    def warm(self) -> None:
        """Start a child, or train the runs left in the queue; return at once.

        Raises:
            RunError: If runs cannot be stored, or no process can be started.
        """
        check_runs_folder()
        if not self._is_swept:
            self._is_swept = True
            sweep_runs()
        self._notify_child()
        with self._lock:
            if self._working_child is None:
                self._ready_child()

    def start(self, job: TrainingJob, *, title: str = "", one_at_a_time: bool = False) -> TrainingRun:
        """Queue a new run; it starts after the active one.

        Args:
            job: The requested training.
            title: As in `create_run`.
            one_at_a_time: As in `create_run`.

        Raises:
            RunError: If its folder cannot be written, the quota is exceeded, or its owner has a run already.
        """
        run = create_run(job, title=title, quota=QUOTA, one_at_a_time=one_at_a_time)
        self._notify_child()
        return run

    def resume(self, run: TrainingRun, *, restart: bool = False, one_at_a_time: bool = False) -> None:
        """Queue a run again that was stopped, interrupted or has failed.

        Args:
            run: The run.
            restart: Start from the beginning instead of the checkpoint.
            one_at_a_time: As in `create_run`.

        Raises:
            RunError: If there is nothing to resume, the run cannot be written, the quota is exceeded, or its
                owner has another run.
        """
        queue_run(run, restart=restart, quota=QUOTA, one_at_a_time=one_at_a_time)
        self._notify_child()

    @property
    def pid(self) -> int | None:
        """Process id of the idle child; None if there is none."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """End the idle child; a training one is left alone."""
        with self._lock:
            self._closed = True
            self._end_child()

    def _notify_child(self):
        """Send the idle child to the queue, unless one is training, which will see new runs itself."""
        with self._lock:
            if self._working_child is not None or self._closed or not (queued := self._queued_runs()):
                return
            child, self._child = self._ready_child(), None
            self._working_child = child
        with contextlib.suppress(OSError):  # the child has died: handled when it is waited for
            if child.stdin:
                child.stdin.write(b"\n")
                child.stdin.close()
        threading.Thread(target=self._wait_for_exit, args=(child, queued), daemon=True).start()

    def _queued_runs(self):
        """Return run -> stamp of the queue, except runs that a child could not begin and that have not
        changed since.
        """
        queued = {run: run.stamp for run in queued_runs()}
        return {run: stamp for run, stamp in queued.items() if self._skipped.get(run) != stamp}

    def _wait_for_exit(self, child, queued):
        """Wait for the child to exit, handle the runs it left in the queue, and start another one."""
        child.wait()
        same = {run: stamp for run, stamp in queued.items() if run.stamp == stamp}
        if child.returncode == 0:
            self._skipped |= same
        elif same == queued and child.pid not in {run.pid for run in list_runs()}:
            first, log = next(iter(same)), runs_folder() / "worker.log"  # another child would fail as well
            try:
                first.append("failed", **failure(RunError("training.process", log=log)))
            except RunError:
                self._skipped[first] = first.stamp
        with self._lock:
            self._working_child = None
        with contextlib.suppress(RunError):  # pages report it
            self._notify_child()
            with self._lock:
                if self._working_child is None and not self._closed:
                    self._ready_child()

    def _ready_child(self):
        """Return the idle child, starting one if necessary; requires the lock."""
        self._last_asked = time.monotonic()
        if self._child is None or self._child.poll() is not None:
            self._child = _spawn()
            self._schedule_idle_check(self._idle_seconds)
        return self._child

    def _schedule_idle_check(self, seconds):
        timer = threading.Timer(seconds, self._end_idle)
        timer.daemon = True
        timer.start()

    def _end_idle(self):
        """End the idle child if it has not been requested for a while."""
        with self._lock:
            left = self._last_asked + self._idle_seconds - time.monotonic()
            if self._child is None:
                return
            if left > 0:
                self._schedule_idle_check(left)
            else:
                self._end_child()

    def _end_child(self):
        child, self._child = self._child, None
        if child:
            child.kill()
            child.wait()
            if child.stdin:
                child.stdin.close()


def _spawn():
    check_runs_folder()
    with write_errors(runs_folder()):
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
            raise RunError("training.spawn", reason=error.strerror) from None
