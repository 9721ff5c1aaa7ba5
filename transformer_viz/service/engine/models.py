"""The models in the memory of a child: each is loaded by itself, and those not asked for lately go.

Memory is counted in bytes, since a model may have a thousand times as many parameters as another. No load
holds up the others for longer than its turn, and none is waited for beyond a limit: a folder on a disk that
does not respond concerns its own model alone.
"""

import gc
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from transformer_viz.service.engine.errors import EngineError

MOST_BYTES = 600 * 2**20
"""Memory of the models that a child keeps; a larger one is kept alone."""

TURN = 10
"""Seconds after which a load shares the processors with the next one."""

LIMIT = 300
"""Seconds after which nobody waits for a load any more; it goes on, and is used if it ever ends."""

UNCLAIMED = 5
"""Seconds for which a loaded model waits for who has asked for it, before it may go."""

POLL = 0.05
"""Interval in seconds between two looks whether there is room for a model."""


class Models:
    """The models of a child.

    `get` is called by one thread, as often as somebody waits; it begins one load after another.

    Args:
        load: From a name to a model; runs in a thread.
        size: From a name to the bytes of the model; runs in that thread before.
    """

    def __init__(self, load: Callable[[str], Any], size: Callable[[str], int]):
        self._load, self._size = load, size
        self._loads: dict[tuple[str, str], _Load] = {}  # the one that was asked for last at the end
        self._lock = threading.Lock()

    def get(self, model: str, stamp: str) -> Any:
        """Return a model; None: it is still being loaded, ask again.

        Args:
            model: Its name.
            stamp: It changes when the folder is rewritten; a model of another stamp goes.

        Raises:
            EngineError: If it has been loading for too long.
            Exception: What loading it raised, once; who asks again begins anew.
        """
        with self._lock:
            load = self._asked(model, stamp)
            for each in self._loads.values():
                each.notice()
            self._begin_next()
            if load.future.done():
                load.is_claimed = True
                if load.future.exception():
                    del self._loads[model, stamp]
                return load.future.result()
        if load.seconds > LIMIT:
            raise EngineError("loading", seconds=LIMIT)
        return None

    def _asked(self, model, stamp):
        """Return the load of a model, as the one that was asked for last."""
        load = self._loads.pop((model, stamp), None) or _Load(model)
        for outdated in [key for key in self._loads if key[0] == model]:
            del self._loads[outdated]
        self._loads[model, stamp] = load
        return load

    def _begin_next(self):
        """Begin the load that has waited longest, unless it is another one's turn."""
        waiting = [load for load in self._loads.values() if load.begun is None]
        if waiting and not any(load.has_its_turn for load in self._loads.values()):
            first = min(waiting, key=lambda load: load.asked)
            first.begun = time.monotonic()
            threading.Thread(target=self._run, args=(first,), daemon=True).start()

    def _run(self, load):
        try:
            load.bytes = self._size(load.model)
            self._make_room()
            load.future.set_result(self._load(load.model))
        except BaseException as error:
            load.bytes = 0
            load.future.set_exception(error)

    def _make_room(self):
        """Let the models go that were not asked for lately, until all that are left fit."""
        while not self._has_room():
            time.sleep(POLL)

    def _has_room(self):
        """Let models go; return whether all that are left fit, or waiting for their askers would not help."""
        with self._lock:
            excess = sum(load.bytes for load in self._loads.values()) - MOST_BYTES
            leaving = []
            for key, load in self._loads.items():
                if excess > 0 and load.may_go:
                    leaving.append(key)
                    excess -= load.bytes
            for key in leaving:
                del self._loads[key]
            is_one_awaited = any(load.future.done() for load in self._loads.values())
        if leaving:
            gc.collect()  # a model and what is compiled for it hold each other
        return excess <= 0 or not is_one_awaited


class _Load:
    """A model on its way into memory, and then there.

    Attributes:
        model: Its name.
        asked: When it was first asked for.
        begun: When its thread began; None: it waits.
        bytes: Memory of the model; 0: not known yet.
        future: The model.
        is_claimed: Whether the model was given to somebody.
    """

    def __init__(self, model):
        self.model, self.asked = model, time.monotonic()
        self.begun: float | None = None
        self.bytes, self.is_claimed = 0, False
        self.future: Future = Future()
        self._there_since = math.inf

    @property
    def seconds(self):
        """For how long it has been loading."""
        return 0 if self.begun is None else time.monotonic() - self.begun

    @property
    def may_go(self):
        """Whether it is loaded, and nobody is about to fetch it."""
        return self.future.done() and (self.is_claimed or time.monotonic() - self._there_since > UNCLAIMED)

    @property
    def has_its_turn(self):
        """Whether the next load waits for it."""
        return self.begun is not None and not self.future.done() and self.seconds < TURN

    def notice(self):
        """Begin to wait for who has asked for it, if it is loaded: a child in the midst of long work gives
        nothing away.
        """
        if self.future.done():
            self._there_since = min(self._there_since, time.monotonic())
