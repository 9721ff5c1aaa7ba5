"""The questions that a child process answers, one at a time, and the models it holds for them.

A thread loads models beside the questions, so that a model that is not in memory yet delays only those who
ask for it.
"""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor

from transformer_viz import store
from transformer_viz.network.startup import load_upper_floor
from transformer_viz.service.engine.cost import is_quick
from transformer_viz.service.engine.errors import EngineError
from transformer_viz.values.config import UNK_ID

MODELS_KEPT = 8
"""Models held in the memory of a child."""

PORTION = 0.1
"""Seconds for which a portion of long work runs, and then the rest of the pass it is in."""

SWITCH = 0.001
"""Seconds after which a thread that loads lets the one that answers go on."""

_loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
_models: OrderedDict[tuple[str, str], Future] = OrderedDict()


def start(niceness: int, environment: dict[str, str]) -> None:
    """Prepare a new process: it leaves Ctrl-C to its parent, and ends with it however it ends.

    Args:
        niceness: How much it yields to other processes.
        environment: That of its parent, which a process forked from a third one does not inherit.
    """
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)

    def end_with_parent():
        multiprocessing.parent_process().join()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()


def import_keras() -> None:
    """Import everything that questions need, and leave it out of later garbage collections."""
    for module in ("explorer", "decode", "effects"):
        load_upper_floor(f"inspection.{module}")
    gc.collect()
    gc.freeze()


def ping() -> None:
    """Do nothing: whoever gets an answer knows that the child works."""


def begin_to_load(model: str) -> None:
    """Load a model before anybody asks for it."""
    _loaded(model, store.stamp(model))


def answer(question, request, stamp: str, *args):
    """Return `question(explorer, request, *args)`; None if the model is still being loaded.

    Args:
        question: A function of this module.
        request: `Request`.
        stamp: Of the model; another one means that its folder was written anew.
        *args: Further arguments of the question.

    Raises:
        EngineError: If something happened that no sentence of this package describes.
        ValueError: If the model or the request is at fault; says why and the way out.
    """
    try:
        found = _loaded(request.model, stamp)
        return question(found.result(), request, *args) if found.done() else None
    except BaseException as error:
        raise _sentence(error) from None


def trace(explorer, request):
    """Return the trace of a request."""
    return explorer.run(request)


def quick_trace(explorer, request):
    """Return the trace of a request; False if it has too many tokens to be cheap."""
    config, changes, target = explorer.config, request.changes, request.target
    source = len(explorer.tokenizer.encode(request.text, max_len=config.max_len).ids)
    if isinstance(target, str):
        target = explorer.target_tokenizer.encode(target, max_len=config.target_max_len).ids
    count = 0 if target is None else len(target)
    if not is_quick(config, source + changes.padding, count + changes.target_padding):
        return False
    return trace(explorer, request)


def write(explorer, request, written, most):
    """Write a portion more; return the token ids so far, and whether the model has finished."""
    decode = load_upper_floor("inspection.decode")
    return decode.continue_generation(explorer, request, written, most=most, seconds=PORTION)


def effects(explorer, request, heads):
    """Return ((kind, layer, head), effect) of as many of these heads as there is time for."""
    end, found = time.monotonic() + PORTION, []
    for effect in load_upper_floor("inspection.effects").effects_of(explorer, request, heads):
        found.append(effect)
        if time.monotonic() > end:
            break
    return found


def _loaded(model, stamp) -> Future:
    """Return a future of the model; of the loaded models, the least recently used makes room.

    A model that is still loading is never evicted: whoever waits for it would only ask again, and with more
    models than room nobody would ever get an answer.
    """
    key = (model, stamp)
    if key not in _models:
        for outdated in [other for other in _models if other[0] == model]:
            _models.pop(outdated).cancel()
        _models[key] = _loader.submit(_load, model)
    found = _models[key]
    _models.move_to_end(key)
    in_memory = [other for other, load in _models.items() if load.done()]
    for oldest in in_memory[:-MODELS_KEPT]:
        del _models[oldest]
    if found.done() and found.exception():  # reported once; whoever asks again loads again
        del _models[key]
    return found


def _load(model):
    """Load a model and compile its trace, so that the first text need not wait for that."""
    explorer = load_upper_floor("inspection.explorer").load(model)
    explorer.trace([UNK_ID + 1])  # an id: a sub-word need not be a text that can be typed
    return explorer


def _sentence(error):
    """Return the error as the asker may read it: sentences of this package as they are."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return EngineError("memory")
    last = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    module = last.f_globals.get("__name__", "")
    if isinstance(error, ValueError) and module.startswith("transformer_viz."):
        return error
    return EngineError("unexpected", kind=type(error).__name__, where=f"{module}:{last.f_lineno}")
