"""One child process and its queue."""

import contextlib
import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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

    Args:
        niceness: Nice value of the child.

    Attributes:
        restarts: Number of times the child ended and was replaced.
    """

    def __init__(self, *, niceness: int = 0):
        self.restarts = 0
        self._niceness = niceness
        self._queue = ThreadPoolExecutor(1)
        self._lock = threading.Lock()
        self._child: ProcessPoolExecutor | None = None
        self._ready: Future | None = None
        self._closed = False

    def start(self) -> Future:
        """Start the child unless it runs; return a future that is done when Keras is imported.

        The first child of all is forked only once Keras is imported: this takes seconds.

        Raises:
            EngineError: If the worker was closed.
        """
        with self._lock:
            if self._closed:
                raise EngineError("closed")
            if self._child is None or self._ready is None:
                arguments = {"initializer": child.start, "initargs": (self._niceness, dict(os.environ))}
                self._child = ProcessPoolExecutor(1, mp_context=context(), **arguments)
                self._ready = self._child.submit(child.import_keras)
            return self._ready

    def submit(self, question: Callable, *args: Any, limit: float) -> Future:
        """Queue a question.

        Args:
            question: A function of `child`.
            *args: Its arguments.
            limit: Seconds the child may take.
        """
        return self._queue.submit(self._answer, question, args, limit)

    def ask(
        self, question: Callable, *args: Any, limit: float, beat: Callable[[str], None] | None = None
    ) -> Any:
        """Return the answer to a question.

        Args:
            question: A function of `child`.
            *args: Its arguments.
            limit: Seconds the child may take.
            beat: Called every `BEAT` seconds while there is no answer: with "starting" while the child
                starts, "working" if it works on this question, "waiting" if on others. If it raises, the
                question is removed from the queue.

        Raises:
            EngineError: If the child cannot start, ended twice during this question, or took longer than
                `limit`.
            Exception: Anything the question raises.
        """
        future = self.submit(question, *args, limit=limit)
        try:
            while not _is_done(future, BEAT):
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
        return next(iter((self._child and self._child._processes) or ()), None)

    def close(self) -> None:
        """End the child immediately and release its system resources."""
        with self._lock:
            self._closed = True
        self._queue.shutdown(wait=False, cancel_futures=True)
        self._end(wait=True)
        gc.collect()  # releases its semaphores before a signal ends this process

    def _stage(self, future):
        if self._ready is None or not self._ready.done():
            return "starting"
        return "working" if future.running() else "waiting"

    def _answer(self, question, args, limit):
        for _ in range(2):
            problem = "start"
            try:
                self._wait_until_started()
                problem = "died"
                if self._child is None:
                    raise EngineError("closed")
                return self._wait_for(self._child.submit(question, *args), limit, "slow")
            except BrokenProcessPool:
                self._replace()
        raise EngineError(problem)

    def _wait_until_started(self):
        try:
            self._wait_for(self.start(), START_LIMIT, "start")
        except (EngineError, BrokenProcessPool):
            raise
        except Exception as error:  # a failed import, possibly temporary
            raise BrokenProcessPool("the child cannot start") from error

    def _wait_for(self, future, limit, code):
        """Return the result of a future; a child that exceeds the limit is replaced."""
        if not _is_done(future, limit):
            self._replace()
            raise EngineError(code, seconds=limit)
        return future.result()

    def _replace(self):
        self._end()
        self.restarts += 1
        self.start()

    def _end(self, *, wait=False):
        with self._lock:
            child, self._child, self._ready = self._child, None, None
        if child is None:
            return
        for process in list((child._processes or {}).values()):
            with contextlib.suppress(OSError):
                process.kill()
        child.shutdown(wait=wait, cancel_futures=True)


def _is_done(future, seconds):
    """Wait for a future; return whether it is done, successfully or not."""
    with contextlib.suppress(TimeoutError, CancelledError):
        future.exception(seconds)
    return future.done()
