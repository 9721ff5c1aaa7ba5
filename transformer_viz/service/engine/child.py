"""Code of an engine child: answers one question at a time, with a cache of loaded models.

Each model is loaded by a thread of its own, so that a missing one delays only the requests for it. Another
thread compiles their passes with interventions, so that the first change does not wait for that.
"""

import contextlib
import dataclasses
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from transformer_viz import store
from transformer_viz.explorer.beams import BeamRequest, BeamTree
from transformer_viz.network.config import UNK_ID
from transformer_viz.network.startup import import_with_keras
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.answer import Asked as Question
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects, Head
from transformer_viz.questions.effects.word_effects import TextEffects
from transformer_viz.questions.effects.words import Word, words_of
from transformer_viz.questions.preferences.result import PreferenceRequest, Preferences
from transformer_viz.questions.roles.head_roles import Typical
from transformer_viz.questions.roles.head_survey import SurveyRequest, Text
from transformer_viz.questions.roles.survey import MeasuredText
from transformer_viz.questions.text_requests import (
    ClassesRequest,
    TextsRequest,
    WordEffectsRequest,
    WrittenRequest,
)
from transformer_viz.service.engine.cost import is_quick
from transformer_viz.service.engine.errors import EngineError
from transformer_viz.service.engine.models import Models
from transformer_viz.trace.request import Request
from transformer_viz.trace.stream import Reading
from transformer_viz.trace.top_tokens import with_top_tokens
from transformer_viz.trace.trace import Trace

COMPILED_BYTES = 30 * 2**20
"""Memory of a model beside its parameters: its vocabulary, and what is compiled for it."""

Asked = Request | SurveyRequest | TextsRequest | BeamRequest | PreferenceRequest | EffectsRequest
"""What names a model, and what is asked of it."""

OUTPUTS = 16
"""Texts that a translator writes together."""

CLASSES = 64
"""Texts that a classifier reads between two looks at the time."""

PORTION = 0.1
"""Seconds of one portion of long work, plus the rest of its current pass."""

SWITCH = 0.001
"""Thread switch interval in seconds, so that loading a model does not block answers."""

FOR_QUESTIONS = (
    "store.load",
    "explorer.decode",
    "questions.roles.measure_survey",
    "questions.preferences.measure",
    "questions.effects.heads",
    "questions.logit_lens",
)
"""Modules that need Keras, imported before the first question."""

FIRST_LOOK = 2
"""Seconds between loading a model and compiling its passes with interventions, after the first answer."""

_compiler = ThreadPoolExecutor(1, thread_name_prefix="compiler")


def serve(pipe: Connection, prepare: Callable[[], None], niceness: int, environment: dict[str, str]) -> None:
    """Answer the questions of a parent until it ends, one at a time.

    Each is a function with its arguments, and its answer the result and the error, one of which is None. The
    first message says that the process is ready.

    Args:
        pipe: To the parent.
        prepare: Called first.
        niceness: How much the process yields to others.
        environment: That of the parent, which a process forked from a third one does not inherit.
    """
    _begin(niceness, environment)
    prepare()
    pipe.send(None)
    with contextlib.suppress(EOFError):
        while True:
            question, args = pipe.recv()
            pipe.send_bytes(pickle.dumps(_result(question, args), pickle.HIGHEST_PROTOCOL))


def _result(question, args):
    try:
        return question(*args), None
    except Exception as error:
        return None, error


def _begin(niceness, environment):
    """Initialise a new process: it ignores Ctrl-C, and ends with its parent."""
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)

    def end_with_parent():
        if parent := multiprocessing.parent_process():
            parent.join()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()


def import_keras() -> None:
    """Import the modules that questions need, and exclude them from later garbage collections."""
    for module in FOR_QUESTIONS:
        import_with_keras(module)
    gc.collect()
    gc.freeze()


def ping() -> None:
    """Do nothing; shows that the child responds."""


def begin_to_load(model: str) -> None:
    """Load a model in advance."""
    _models.get(model, store.stamp(model))


def answer(question: Callable, request: Asked, stamp: str, *args: Any) -> Any:
    """Return `question(explorer, request, *args)`; None if the model is still loading.

    Args:
        question: A function of this module.
        request: The request.
        stamp: Of the model; it changes when its folder is rewritten.
        *args: Further arguments of the question.

    Raises:
        EngineError: If the model has been loading for too long, or an unexpected error occurs.
        ValueError: If the model or the request is invalid; says why and how to fix it.
    """
    try:
        explorer = _models.get(request.model, stamp)
        return None if explorer is None else question(explorer, request, *args)
    except BaseException as error:
        raise _sentence(error) from None


def labels(explorer: Any, _request: Request) -> tuple[str, ...]:
    """Return the labels of a model, which its traces are sent without."""
    return explorer.labels


def trace(explorer: Any, request: Request) -> Trace:
    """Return the trace of a request, without labels; of a large vocabulary only the likeliest tokens."""
    return dataclasses.replace(with_top_tokens(explorer.run(request)), labels=())


def whole_trace(explorer: Any, request: Request) -> Trace:
    """Return the trace of a request with the whole vocabulary, without labels."""
    return dataclasses.replace(explorer.run(request), labels=())


def quick(explorer: Any, request: Request, question: Callable) -> Any:
    """Return `question(explorer, request)`; False if the request has too many tokens to be cheap."""
    config, changes, target = explorer.config, request.changes, request.target
    text = request.text
    if isinstance(text, str):
        text = explorer.tokenizer.encode(text, max_len=config.max_len).ids
    if isinstance(target, str):
        target = explorer.target_tokenizer.encode(target, max_len=config.target_max_len).ids
    count = 0 if target is None else len(target)
    if not is_quick(config, len(text) + changes.padding, count + changes.target_padding):
        return False
    return question(explorer, request)


def reading(explorer: Any, request: Request) -> Reading:
    """Return what the output layer reads at each step of a run."""
    return import_with_keras("questions.logit_lens").reading_of(explorer, explorer.run(request))


def write(
    explorer: Any, request: Request, written: Sequence[int], most: int, draft: Sequence[int]
) -> tuple[tuple[int, ...], bool]:
    """Generate another portion; return the token ids so far, and whether the model has finished."""
    decode, limits = import_with_keras("explorer.decode"), {"most": most, "seconds": PORTION}
    return decode.continue_generation(explorer, request, written, draft=draft, **limits)


def preferences(explorer: Any, request: PreferenceRequest) -> tuple[Preferences, ...]:
    """Return which words each head of the first layer prefers."""
    return import_with_keras("questions.preferences.measure").word_preferences(explorer, request.query)


def search(explorer: Any, request: BeamRequest, tree: BeamTree | None) -> BeamTree:
    """Continue a beam search for another portion; return its tree so far."""
    return import_with_keras("explorer.decode").search(explorer, request, tree, seconds=PORTION)


def certainties(
    explorer: Any, request: Request, groups: Sequence[Sequence[Head]], asked: EffectsRequest | None
) -> list[Certainty]:
    """Return the certainty of the answer with each of as many of these groups as fit into a portion."""
    effects = import_with_keras("questions.effects.heads")
    question = None if asked is None else _question(explorer, asked)
    return [*effects.certainties(explorer, request, groups, asked=question, seconds=PORTION)]


def effects(explorer: Any, asked: EffectsRequest) -> tuple[Effects, list[Word]]:
    """Return the effects of cells and heads on an answer, and the words that are still to be left out."""
    measure = import_with_keras("questions.effects.measure")
    prepared = explorer.prepare(asked.request)
    found = measure.estimate(explorer, prepared, _question(explorer, asked))
    return found, words_of(prepared.source, prepared.target)


def _question(explorer, asked):
    """Return what is asked, with numbers in place of names."""
    numbered = import_with_keras("questions.effects.measure").numbered
    return numbered(explorer, asked.answer, asked.versus, asked.position)


def compile_effects(explorer: Any, _asked: EffectsRequest) -> None:
    """Compile what explains an answer, for the first one that is asked why."""
    measure = import_with_keras("questions.effects.measure")
    prepared = explorer.prepare(_some_request(explorer))
    answer = measure.estimate(explorer, prepared, Question()).answer
    for _ in measure.left_out(explorer, prepared, answer, [Word("text", "", 0, 0, (1,))]):
        pass


def left_out(
    explorer: Any, asked: EffectsRequest, answer: Answer, words: Sequence[Word]
) -> dict[Word, float]:
    """Return f without each of as many of these words as fit into a portion."""
    measure, prepared = import_with_keras("questions.effects.measure"), explorer.prepare(asked.request)
    parts = measure.left_out(explorer, prepared, answer, words, seconds=PORTION)
    return {word: value for part in parts for word, value in part}


def classes(explorer: Any, _request: ClassesRequest, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities of the labels, float32 (text, label), of as many of these texts, from the
    first on, as fit into a portion.
    """
    end, found = time.monotonic() + PORTION, []
    for start in range(0, len(texts), CLASSES):
        answers = explorer.predict(texts[start : start + CLASSES])
        found.append(answers.filter(regex="^prob_").to_numpy(np.float32))
        if time.monotonic() > end:
            break
    return np.concatenate(found)


def written_rows(
    explorer: Any, _request: WrittenRequest, rows: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return what a model that writes says of the first of these rows, as many as fit into a portion."""
    predictions, end, found = (
        import_with_keras("questions.evaluation.predictions"),
        time.monotonic() + PORTION,
        [],
    )
    size = OUTPUTS if explorer.config.has_encoder else CLASSES
    for start in range(0, len(rows), size):
        found += predictions.of_written(explorer, rows[start : start + size])
        if time.monotonic() > end:
            break
    return found


def word_effects(explorer: Any, _request: WordEffectsRequest, texts: Sequence[str]) -> list[TextEffects]:
    """Return what the words of as many of these texts, from the first on, do as fit into a portion."""
    end, found = time.monotonic() + PORTION, []
    for effects in import_with_keras("questions.effects.many_texts").effects_in(explorer, texts):
        found.append(effects)
        if time.monotonic() > end:
            break
    return found


def survey(
    explorer: Any, request: SurveyRequest, texts: Sequence[Text], words: Typical
) -> list[MeasuredText]:
    """Return what the heads do in as many of these texts, from the first on, as fit into a portion."""
    end, found = time.monotonic() + PORTION, []
    for measured in import_with_keras("questions.roles.measure_survey").measured_texts(
        explorer, texts, words
    ):
        found.append(measured)
        if time.monotonic() > end:
            break
    return found


def _load(model):
    """Load a model and compile its trace, so that the first text does not wait for that."""
    explorer = import_with_keras("store.load").load(model)
    request = _some_request(explorer)
    explorer.run(request)
    request, due = request.changed(ablate=((0, 0),)), time.monotonic() + FIRST_LOOK
    _compiler.submit(_compile_interventions, weakref.ref(explorer), request, due)
    return explorer


def _some_request(explorer):
    """Return a request that costs little, for what is compiled by answering it."""
    target = None if explorer.target_tokenizer is None else ()  # an own one might take long
    some_ids = [UNK_ID] * 3  # no text; the first and the last may be those that are put around one
    return explorer.request(some_ids, target=target)


def _compile_interventions(reference, request, due):
    """Compile the passes with interventions, so that the first change does not wait for that.

    A model that has left the memory by then is not held for it.
    """
    time.sleep(max(due - time.monotonic(), 0))
    if (explorer := reference()) is None:
        return
    prepared = explorer.prepare(request)
    for keep in ("all", "logits") if explorer.config.has_decoder else ("all",):
        explorer.compute(prepared, keep=keep)


def _bytes(model):
    """Return the memory that a model will take; 0 if it cannot be loaded, which loading explains."""
    with contextlib.suppress(store.ModelError):
        return 4 * store.read_config(model).num_parameters + COMPILED_BYTES
    return 0


def _sentence(error):
    """Return the error to report: errors of this package unchanged."""
    if isinstance(error, EngineError):
        return error
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return EngineError("memory")
    last = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    module = last.f_globals.get("__name__", "")
    if isinstance(error, ValueError) and module.startswith("transformer_viz."):
        return error
    return EngineError("unexpected", kind=type(error).__name__, where=f"{module}:{last.f_lineno}")


_models = Models(_load, _bytes)
