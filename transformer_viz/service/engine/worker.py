"""One child process and its queue."""

import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from transformer_viz.service.engine import child
from transformer_viz.service.engine.errors import EngineError
from transformer_viz.service.forking import context

START_LIMIT = 120
"""Seconds a child may take to start; importing TensorFlow on a busy machine takes 15."""

BEAT = 0.2
"""Interval in seconds between two calls of `beat`."""


class Worker:
    """A child process that answers one question at a time, and a queue of questions.

    The queue is a thread that sends one question to the child and waits for its answer. The time limit of a
    question therefore starts when the child starts it, and replacing a child affects no other question.

    It owns the pipe to the child: an executor of processes passes each question and each answer through two
    more threads, which took a sixth of the time to a trace where processors sleep between two sentences.

    Args:
        niceness: Nice value of the child.

    Attributes:
        restarts: Number of times the child ended and was replaced.
    """

    def __init__(self, *, niceness: int = 0):
        self.restarts = 0
        self._niceness = niceness
        self._queue = ThreadPoolExecutor(1)
        self._pending = 0
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._closed = False

    def start(self) -> Future:
        """Start the child unless it runs; return a future that is done when Keras is imported.

        The first child of all is forked only once Keras is imported: this takes seconds.

        Raises:
            EngineError: If the worker was closed.
        """
        if self._closed:
            raise EngineError("closed")
        return self._queue.submit(self._ready_child)

    def submit(self, question: Callable, *args: Any, limit: float, is_cheap: bool = False) -> Future:
        """Queue a question.

        Args:
            question: A function of `child`.
            *args: Its arguments.
            limit: Seconds the child may take.
            is_cheap: Whether the question itself takes no time: if there is no answer within the limit, it is
                asked once more, of another child.

        Raises:
            EngineError: If the worker was closed.
        """
        try:
            future = self._queue.submit(self._answer, question, args, limit, is_cheap)
        except RuntimeError:
            raise EngineError("closed") from None
        with self._lock:
            self._pending += 1
        future.add_done_callback(self._end)
        return future

    @property
    def is_free(self) -> bool:
        """Whether nobody waits for an answer."""
        return not self._pending

    def _end(self, _future):
        with self._lock:
            self._pending -= 1

    def ask(
        self,
        question: Callable,
        *args: Any,
        limit: float,
        is_cheap: bool = False,
        beat: Callable[[str], None] | None = None,
    ) -> Any:
        """Return the answer to a question.

        Args:
            question: A function of `child`.
            *args: Its arguments.
            limit: Seconds the child may take.
            is_cheap: As for `submit`.
            beat: Called every `BEAT` seconds while there is no answer: with "starting" while the child
                starts, "working" if it works on this question, "waiting" if on others. If it raises, the
                question is removed from the queue.

        Raises:
            EngineError: If the child cannot start, ended twice during this question, or took longer than
                `limit`; with a cheap question twice.
            Exception: Anything the question raises.
        """
        future = self.submit(question, *args, limit=limit, is_cheap=is_cheap)
        try:
            while not _is_done(future, BEAT):
                if (running := self._child) and running.is_overdue:
                    running.kill()  # it stopped within an answer, which the queue would wait for
                if beat:
                    beat(self._stage(future))
            return future.result()
        except CancelledError:
            raise EngineError("closed") from None
        finally:
            future.cancel()

    @property
    def pid(self) -> int | None:
        """Process id of the child; None before it has started."""
        return self._child and self._child.pid

    def close(self) -> None:
        """End the child immediately and release its system resources."""
        with self._lock:
            self._closed = True
        self._queue.shutdown(wait=False, cancel_futures=True)
        if running := self._child:
            running.kill()
            running.join()

    def _stage(self, future):
        if self._child is None or not self._child.is_ready:
            return "starting"
        return "working" if future.running() else "waiting"

    def _answer(self, question, args, limit, is_cheap):
        problem = EngineError("start")
        for _ in range(2):
            problem = EngineError("start")
            try:
                ready = self._ready_child()
                problem = EngineError("died")
                return ready.ask(question, args, limit)
            except _EndedError:
                self._replace()
            except _LateError:
                self._replace()
                problem = EngineError("busy" if is_cheap else "slow", seconds=limit)
                if not is_cheap:
                    break
        raise problem

    def _ready_child(self):
        """Return the child once it is ready; start it unless it runs."""
        starting = self._running_child()
        try:
            starting.wait_until_ready()
        except _LateError:
            self._replace()
            raise EngineError("start", seconds=START_LIMIT) from None
        return starting

    def _running_child(self):
        with self._lock:
            if self._closed:
                raise EngineError("closed")
            if self._child is None:
                self._child = _Child(self._niceness)
            return self._child

    def _replace(self):
        if self._child:
            self._child.kill()
        self._child = None
        self.restarts += 1
        self._running_child()


class _EndedError(Exception):
    """The child has ended, or could not start; its output says why."""


class _LateError(Exception):
    """The child has exceeded a time limit."""


class _Child:
    """A child process, and the pipe to it.

    Attributes:
        is_ready: Whether it has imported Keras.
        pid: Its process id.
    """

    def __init__(self, niceness):
        self._pipe, end = context().Pipe()
        own = end, child.import_keras, niceness, dict(os.environ)
        self._process = context().Process(target=child.serve, args=own, daemon=True)
        self._process.start()
        end.close()  # the child has its own: when it ends, so does the pipe
        self.is_ready = False
        self.pid = self._process.pid
        self._due = math.inf

    @property
    def is_overdue(self):
        """Whether an answer is late; one that has begun to arrive is waited for until the child is killed."""
        return time.monotonic() > self._due + BEAT

    def wait_until_ready(self):
        if not self.is_ready:
            self._receive(START_LIMIT)
            self.is_ready = True

    def ask(self, question, args, limit):
        """Return the answer to a question, or raise what the question raises."""
        self._due = time.monotonic() + limit
        try:
            self._pipe.send((question, args))
            found, error = self._receive(limit)
        except (OSError, _EndedError):
            raise (_LateError if self.is_overdue else _EndedError) from None
        finally:
            self._due = math.inf
        if error:
            raise error
        return found

    def kill(self):
        self._process.kill()

    def join(self):
        self._process.join()

    def _receive(self, limit):
        try:
            if not self._pipe.poll(limit):
                raise _LateError
            return self._pipe.recv()
        except (EOFError, OSError):
            raise _EndedError from None


def _is_done(future, seconds):
    """Wait for a future; return whether it is done, successfully or not."""
    with suppress(TimeoutError, CancelledError):
        future.exception(seconds)
    return future.done()
