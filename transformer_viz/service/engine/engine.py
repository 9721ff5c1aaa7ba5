"""What the app asks about models, and which of two children answers it.

The quick child has the questions that are known to be cheap, and never waits for the slow one, which has the
rest. Work that takes long is asked for in portions of a tenth of a second: visitors take turns, see how far
theirs is, and leave it by no longer asking.
"""

import functools
import time
from collections.abc import Callable

import numpy as np

from transformer_viz import store
from transformer_viz.service.engine import child
from transformer_viz.service.engine.cost import seems_quick
from transformer_viz.service.engine.worker import Worker
from transformer_viz.values.interventions import all_heads, by_kind
from transformer_viz.values.trace import Run, Trace

MAX_WRITTEN = 256
"""Most tokens that a model writes for one question."""

QUICK_LIMIT, SLOW_LIMIT = 30, 60
"""Seconds that one portion of work may take; far more than it does, but on a very busy machine."""

POLL = 0.05
"""Seconds between two looks whether a model is loaded."""

YIELDING = 5
"""How much the slow child yields to other processes (nice)."""

Progress = Callable[[str, int, int], None]
"""Called while there is no answer, with the stage ("starting", "waiting", "loading", "working", "writing",
"effects"), the steps done and the steps there are, 0 if unknown. If it raises, the question is given up."""


class Engine:
    """Answers what visitors ask, in two child processes shared by all of them."""

    def __init__(self):
        self._quick, self._slow = Worker(), Worker(niceness=YIELDING)

    @property
    def restarts(self) -> int:
        """How often a child had ended and was replaced."""
        return self._quick.restarts + self._slow.restarts

    @property
    def pid(self) -> int | None:
        """Process id of the quick child; None before it has started."""
        return self._quick.pid

    def warm(self, model: str) -> None:
        """Start the children, and load a model before anybody asks for it; return at once."""
        self._quick.start()
        loading = self._quick.submit(child.begin_to_load, model, limit=QUICK_LIMIT)
        loading.add_done_callback(lambda _: self._slow.start())  # one after the other: the first is awaited

    def trace(self, run: Run, *, progress: Progress | None = None) -> Trace:
        """Answer a run; without a target, an encoder-decoder first writes one, `MAX_WRITTEN` tokens at most.

        Args:
            run: What is asked.
            progress: Told how far the answer is.

        Raises:
            EngineError: If there is no answer; says why.
            ModelError: If the model cannot be loaded.
            ValueError: If the run asks for something that is not there.
        """
        config = _config(run.model, store.stamp(run.model))
        target = self._target(run, config, progress)
        if seems_quick(config, run, target):
            trace = self._ask(self._quick, child.quick_trace, run, target, progress=progress)
            if trace is not False:
                return trace
        return self._ask(self._slow, child.trace, run, target, progress=progress)

    def head_effects(self, run: Run, *, progress: Progress | None = None) -> dict[str, np.ndarray]:
        """Return by how much the answer becomes less probable without each head, as `effects.head_effects`.

        Of an encoder-decoder without a target, the answer is what it writes itself. Arguments and errors as
        in `trace`; of the run, only model, text and target are used.
        """
        config = _config(run.model, store.stamp(run.model))
        run = Run(run.model, run.text, run.target)
        target = self._target(run, config, progress)
        heads, found = all_heads(config), []
        while len(found) < len(heads):
            found += self._ask(self._slow, child.effects, run, target, heads[len(found) :], progress=progress)
            _tell(progress, "effects", len(found), len(heads))
        return by_kind(found)

    def check(self) -> None:
        """Return if the quick child answers.

        Raises:
            EngineError: If it does not.
        """
        self._quick.ask(child.ping, limit=QUICK_LIMIT)

    def close(self) -> None:
        """End the children, whatever they are doing."""
        self._quick.close()
        self._slow.close()

    def _target(self, run, config, progress):
        """Return the token ids of the target: typed, or written by the model; None if it reads one text."""
        if run.target is not None or config.architecture != "encoder-decoder":
            return None
        written, finished, most = (), False, min(MAX_WRITTEN, config.target_max_len)
        while not finished:
            written, finished = self._ask(self._slow, child.write, run, written, most, progress=progress)
            _tell(progress, "writing", len(written), most)
        return written[: config.target_max_len - 1]  # [START] needs a position too

    def _ask(self, worker, question, run, *args, progress):
        """Put a question to a child, again and again as long as the model is being loaded."""
        stamp = store.stamp(run.model)
        limit = QUICK_LIMIT if worker is self._quick else SLOW_LIMIT

        def beat(stage):
            _tell(progress, stage, 0, 0)

        while (
            answer := worker.ask(child.answer, question, run, stamp, *args, limit=limit, beat=beat)
        ) is None:
            _tell(progress, "loading", 0, 0)
            time.sleep(POLL)
        return answer


@functools.lru_cache(64)
def _config(model, stamp):
    """Return the config of a model; a folder written anew has another stamp."""
    return store.read_config(model)


def _tell(progress, stage, done, total):
    if progress:
        progress(stage, done, total)
