"""The process that trains, seen from outside: ready before it is needed, and left alone once it works."""

import contextlib
import subprocess
import sys
import threading
import time

from transformer_viz.runs import (
    RunError,
    TrainingJob,
    TrainingRun,
    check_runs_folder,
    create_run,
    list_runs,
    queue_run,
    queued_runs,
    runs_folder,
    sweep_runs,
)
from transformer_viz.runs.errors import failure, write_errors
from transformer_viz.runs.listing import QUOTA

WORKER = "transformer_viz.training.worker"
"""Module the child runs."""

IDLE_SECONDS = 5 * 60
"""How long a child waits for work: with TensorFlow loaded, it holds 800 MB."""


class Trainer:
    """Keeps one warm child waiting; `start` puts a run into the queue and tells it.

    The child owns its own session: neither a closed browser nor the end of this process stops a run. A child
    that has been told nothing ends with this process, or when nobody has asked for it for a while.

    Args:
        idle_seconds: How long a child waits for work.
    """

    def __init__(self, *, idle_seconds=IDLE_SECONDS):
        self._lock = threading.Lock()
        self._child = None
        self._working_child = None
        self._closed = False
        self._skipped = {}
        self._idle_seconds, self._last_asked = idle_seconds, 0.0
        self._is_swept = False

    def warm(self) -> None:
        """Have a child wait, or see to the runs that were left in the queue; return at once.

        Raises:
            RunError: If runs cannot be kept, or no process can be started.
        """
        check_runs_folder()
        if not self._is_swept:
            self._is_swept = True
            sweep_runs()
        self._notify_child()
        with self._lock:
            if self._working_child is None:
                self._ready_child()

    def start(self, job: TrainingJob, *, title="", one_at_a_time=False) -> TrainingRun:
        """Put a new run into the queue; one that is running is waited for.

        Args:
            job: What to do, and whose it is.
            title: As in `create_run`.
            one_at_a_time: As in `create_run`.

        Raises:
            RunError: If its folder cannot be written, there is no room, or its owner has one already.
        """
        run = create_run(job, title=title, quota=QUOTA, one_at_a_time=one_at_a_time)
        self._notify_child()
        return run

    def resume(self, run: TrainingRun, *, restart=False, one_at_a_time=False) -> None:
        """Put a run that was stopped, interrupted or has failed into the queue again.

        Args:
            run: The run.
            restart: Begin from its beginning instead of its checkpoint.
            one_at_a_time: As in `create_run`.

        Raises:
            RunError: If there is nothing to resume, the run cannot be written, there is no room, or its owner
                has another one.
        """
        queue_run(run, restart=restart, quota=QUOTA, one_at_a_time=one_at_a_time)
        self._notify_child()

    @property
    def pid(self) -> int | None:
        """Process id of the child that waits; None if there is none."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """End the child that waits; one that works is left alone."""
        with self._lock:
            self._closed = True
            self._end_child()

    def _notify_child(self):
        """Send the waiting child to the queue, unless one is at it: that one sees what comes in meanwhile."""
        with self._lock:
            queued = self._queued_runs()
            if self._working_child is not None or self._closed or not queued:
                return
            child, self._child = self._ready_child(), None
            self._working_child = child
        with contextlib.suppress(OSError):  # it died while it waited: seen at its end
            child.stdin.write(b"\n")
            child.stdin.close()
        threading.Thread(target=self._wait_for_exit, args=(child, queued), daemon=True).start()

    def _queued_runs(self):
        """Return run -> stamp of the queue, but for runs as they were when a child could not begin them."""
        queued = {run: run.stamp for run in queued_runs()}
        return {run: stamp for run, stamp in queued.items() if self._skipped.get(run) != stamp}

    def _wait_for_exit(self, child, queued):
        """Wait for the child's end, see to what it left in the queue, and have another one wait."""
        child.wait()
        same = {run: stamp for run, stamp in queued.items() if run.stamp == stamp}
        if child.returncode == 0:
            self._skipped |= same
        elif same == queued and child.pid not in {run.pid for run in list_runs()}:  # nor would another
            first, log = next(iter(same)), runs_folder() / "worker.log"
            try:
                first.append("failed", **failure(RunError("training.process", log=log)))
            except RunError:
                self._skipped[first] = first.stamp
        with self._lock:
            self._working_child = None
        with contextlib.suppress(RunError):  # said when a page is shown
            self._notify_child()
            with self._lock:
                if self._working_child is None and not self._closed:
                    self._ready_child()

    def _ready_child(self):
        """Return the child that waits, a new one if there is none; to be called with the lock held."""
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
        """End the child that waits if nobody has asked for it for a while: it holds much memory."""
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
