"""The process that owns the models: `Run` in, `Trace` or effects out.

Keras never enters the process that asks: Streamlit would clear its state after every click. The child is
started before it is needed, loads a model once, and is replaced when it dies.
"""

import functools
import gc
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from transformer_viz import store
from transformer_viz.config import UNK_ID
from transformer_viz.startup import load_upper_floor
from transformer_viz.trace import Run, Trace

TIMEOUT = 120
"""Seconds after which an answer is given up; the import of TensorFlow on a busy machine takes 15."""

MODELS_KEPT = 4
"""Models held in the child's memory at a time."""


class EngineError(RuntimeError):
    """The engine could not answer; says what happened and what to try."""


class Engine:
    """One child process that answers one question at a time, shared by all visitors.

    Attributes:
        restarts: How often the child had died and was replaced.
    """

    def __init__(self):
        self.restarts = 0
        self._lock = threading.Lock()
        self._pool = _new_pool()

    def warm(self, model: str) -> None:
        """Start the child, and load a model before anybody asks for it; return at once."""
        self._pool.submit(_warm, model)

    def trace(self, run: Run) -> Trace:
        """Answer a run; a child that has died meanwhile is replaced once.

        Raises:
            EngineError: If the child died again over this run, or gives no answer in time.
            ModelError: If the model cannot be loaded.
            ValueError: If the run asks for something that is not there.
        """
        return self._ask(_trace, run)

    def head_effects(self, run: Run) -> dict:
        """Return by how much the answer becomes less probable without each head, as `effects.head_effects`.

        Of an encoder-decoder without a target, the answer is what it writes itself. Raises what `trace` does.

        Args:
            run: Model, text and target; what else there is in it is left out.
        """
        return self._ask(_head_effects, run)

    def _ask(self, question, run):
        """Put a question about a run to the child; raises what `trace` says."""
        pool = self._pool
        try:
            return self._answer(pool, question, run)
        except BrokenProcessPool:
            pool = self._replace(pool)
        try:
            return self._answer(pool, question, run)
        except BrokenProcessPool:
            self._replace(pool)
            raise EngineError(
                "The engine stopped twice while it worked on this text; perhaps memory ran out. "
                "Try a shorter text or a smaller model."
            ) from None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None before it has started."""
        return next(iter(self._pool._processes or ()), None)

    def close(self) -> None:
        """End the child, whatever it is doing, and give back what the system held for it."""
        pool, self._pool = self._pool, None
        _end(pool, wait=True)
        del pool
        gc.collect()  # its semaphores, before a signal ends this process without ceremony

    def _answer(self, pool, question, run):
        try:
            return pool.submit(question, run, store.stamp(run.model)).result(timeout=TIMEOUT)
        except TimeoutError:
            self._replace(pool)
            raise EngineError(
                f"The engine gave no answer within {TIMEOUT} seconds and was started again. "
                "Try a shorter text or a smaller model."
            ) from None

    def _replace(self, broken):
        """Put a new child in the place of a broken one, unless another thread has done so."""
        with self._lock:
            if self._pool is broken:
                _end(broken)
                self._pool = _new_pool()
                self.restarts += 1
            return self._pool


def _new_pool():
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_start_child)


def _end(pool, *, wait=False):
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(wait=wait, cancel_futures=True)


def _start_child():
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent():
        multiprocessing.parent_process().join()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _warm(model):
    """Import Keras, load the model and compile its trace, so that the first visitor need not wait."""
    explorer = _explorer(model, store.stamp(model))
    explorer.trace([UNK_ID + 1])  # an id: a sub-word need not be a text that can be typed
    gc.collect()
    gc.freeze()


def _trace(run, stamp):
    return _explorer(run.model, stamp).run(run)


def _head_effects(run, stamp):
    explorer = _explorer(run.model, stamp)
    target = explorer.run(run).target_ids[1:]  # without [START], which is put in front
    asked = {"target": target} if explorer.target_tokenizer is not None else {}
    return load_upper_floor("effects").head_effects(explorer, run.text, **asked)


@functools.lru_cache(MODELS_KEPT)
def _explorer(model, stamp):
    """Load a model; another `stamp` means that its folder was written anew."""
    return load_upper_floor("explorer").load(model)
