"""The engine: answers requests about models in two child processes.

The quick child answers cheap questions and never waits for the slow one, which answers the rest. Long work is
requested in portions of a tenth of a second, so that visitors take turns, see their progress, and cancel by
not requesting the next portion.
"""

import contextlib
import dataclasses
import functools
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cachetools import LRUCache, cachedmethod

from transformer_viz import store
from transformer_viz.explorer.beams import BeamRequest, BeamTree
from transformer_viz.explorer.growing import with_written
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import SATURATED, Effects, HeadEffects, ablations
from transformer_viz.questions.effects.word_effects import TextEffects
from transformer_viz.questions.effects.words import Word
from transformer_viz.questions.preferences.result import PreferenceRequest, Preferences
from transformer_viz.questions.roles.head_roles import kept_words
from transformer_viz.questions.roles.head_survey import HeadSurvey, SurveyRequest, length_order
from transformer_viz.questions.roles.survey import SurveyTotals
from transformer_viz.questions.text_requests import (
    ClassesRequest,
    TextsRequest,
    WordEffectsRequest,
    WrittenRequest,
)
from transformer_viz.service.engine import child
from transformer_viz.service.engine.cost import seems_quick
from transformer_viz.service.engine.errors import EngineError
from transformer_viz.service.engine.worker import Worker
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import EFFECTS, READING, TRACE, Request
from transformer_viz.trace.stream import Reading
from transformer_viz.trace.trace import Trace

MAX_WRITTEN = 256
"""Most tokens generated for one request."""

MAX_TARGETS = 256
"""Cached generated targets: the next request about the same text reuses them."""

LABELS_KEPT = 8
"""Models whose labels are kept."""

QUICK_LIMIT, SLOW_LIMIT = 30, 60
"""Seconds allowed for one portion; far more than needed, except on a very busy machine."""

PART = 16
"""Texts of a survey that are sent to the child at a time; it answers for as many as fit into a portion."""

BATCH = 1024
"""Texts to classify that are sent to the child at a time, as for `PART`."""

POLL = 0.05
"""Interval in seconds between two checks whether a model is loaded."""

YIELDING = 5
"""Nice value of the slow child."""

QUESTIONS = {TRACE: child.trace, READING: child.reading}
"""What a request wants -> function that answers it in one portion."""

Progress = Callable[[str, int, int], None]
"""Callback with the stage ("starting", "waiting", "loading", "working", "writing", "effects",
"words", "survey"), the steps done and the total, 0 if unknown. If it raises, the request is cancelled."""


class Engine:
    """Answers requests in two child processes shared by all visitors."""

    def __init__(self):
        self._quick, self._slow = Worker(), Worker(niceness=YIELDING)
        self._targets, self._lock = LRUCache(MAX_TARGETS), threading.Lock()
        self._latest: LRUCache[tuple, tuple[int, ...]] = LRUCache(MAX_TARGETS)
        self._labels: LRUCache[tuple[str, str], tuple[str, ...]] = LRUCache(LABELS_KEPT)

    @property
    def restarts(self) -> int:
        """Number of times a child ended and was replaced."""
        return self._quick.restarts + self._slow.restarts

    @property
    def pid(self) -> int | None:
        """Process id of the quick child; None before it has started."""
        return self._quick.pid

    @property
    def is_free(self) -> bool:
        """Whether nobody waits for a cheap answer."""
        return self._quick.is_free

    def warm(self, model: str) -> None:
        """Start the children and load a model in advance; return at once."""
        loading = self._quick.submit(child.begin_to_load, model, limit=QUICK_LIMIT)
        loading.add_done_callback(lambda _: self._slow.start())  # sequentially: the quick one is needed first

    def warm_effects(self, model: str) -> None:
        """Compile what explains the answers of a model in advance; return at once."""
        threading.Thread(target=self._compile_effects, args=(model,), daemon=True).start()

    def answer(self, request: Request, *, progress: Progress | None = None) -> Trace | HeadEffects | Reading:
        """Answer a request.

        For an encoder-decoder without a target, one of at most `MAX_WRITTEN` tokens is generated first, under
        the changes of the request. Head effects are all measured on it, with the same target for each head.

        Args:
            request: Model, texts and changes, and what is wanted: trace, head effects, or reading.
            progress: Called while there is no answer.

        Returns:
            `Trace`, of a large vocabulary with the likeliest tokens, see `with_top_tokens`; or the effect of
            ablating each head, and all of them together; or what the output layer reads at each step.

        Raises:
            EngineError: If there is no answer; says why.
            ModelError: If the model cannot be loaded.
            ValueError: If the request refers to something that does not exist.
        """
        config, request = self._with_written(request, progress)
        if request.wants == EFFECTS:
            return self._effects(request, config, progress)
        question, worker, found = QUESTIONS[request.wants], self._quick, False
        if seems_quick(config, request):
            found = self._ask(worker, child.quick, request, question, progress=progress)
        if found is False:
            worker = self._slow
            found = self._ask(worker, question, request, progress=progress)
        return self._labelled(worker, request, found, progress) if isinstance(found, Trace) else found

    def whole_trace(self, request: Request) -> Trace:
        """Answer a request with the whole vocabulary; errors as for `answer`."""
        _, request = self._with_written(request, None)
        trace = self._ask(self._slow, child.whole_trace, request, progress=None)
        return self._labelled(self._slow, request, trace, None)

    def survey(self, request: SurveyRequest, *, progress: Progress | None = None) -> HeadSurvey:
        """Measure what each head of a model does in many texts, in portions.

        For an encoder-decoder, targets of at most `MAX_WRITTEN` tokens are generated for texts without one.

        Args:
            request: Model and texts.
            progress: Called after each portion, and while there is none.

        Raises:
            EngineError, ModelError: As `answer`.
            ValueError: If in none of the texts a token can choose between two keys.
        """
        config, texts = _config(request.model, store.stamp(request.model)), request.texts
        words = kept_words(store.read_head_roles(request.model))
        totals, left = SurveyTotals(config, texts, words), length_order(texts)

        def tell(stage: str, done: int, total: int) -> None:
            if stage in ("working", "writing"):  # each portion begins anew
                stage, done, total = "survey", len(texts) - len(left), len(texts)
            _tell(progress, stage, done, total)

        while left:
            part = [self._with_target(request.model, texts[each], config, tell) for each in left[:PART]]
            while part:
                found = self._ask(self._slow, child.survey, request, part, words, progress=tell)
                for number, measured in zip(left, found, strict=False):
                    totals.add(number, measured)
                left, part = left[len(found) :], part[len(found) :]
                tell("working", 0, 0)
        return totals.result()

    def classes(self, request: ClassesRequest, *, progress: Progress | None = None) -> np.ndarray:
        """Return the probabilities that a classifier gives to its labels, in portions: float32 (text, label).

        Args:
            request: Model and texts.
            progress: Called after each portion, and while there is none.

        Raises:
            EngineError, ModelError, ValueError: As `answer`.
        """
        return np.array(self._in_portions(child.classes, request, BATCH, "classes", progress))

    def written_rows(
        self, request: WrittenRequest, *, progress: Progress | None = None
    ) -> list[dict[str, Any]]:
        """Return what a model that writes says of each text, in portions: columns as of `predict_file`.

        Arguments and errors as for `classes`.
        """
        return self._in_portions(child.written_rows, request, BATCH, "classes", progress)

    def word_effects(
        self, request: WordEffectsRequest, *, progress: Progress | None = None
    ) -> list[TextEffects]:
        """Return what the words of each text do to the labels of a classifier, in portions.

        Arguments and errors as for `classes`.
        """
        return self._in_portions(child.word_effects, request, PART, "word_effects", progress)

    def _in_portions(self, question, request: TextsRequest, size: int, stage: str, progress) -> list[Any]:
        """Return what the slow child says of each text, asked about so many at once, the longest first.

        Args:
            question: Function of `child`, which answers about as many texts as fit into a portion.
            request: Model and texts.
            size: Texts that are sent at once.
            stage: What is told while it works.
            progress: As for `classes`.
        """
        texts, order = request.texts, length_order(request.texts)
        found: list[Any] = []

        def tell(at: str, _done: int, _total: int) -> None:
            _tell(progress, stage if at == "working" else at, len(found), len(texts))

        while len(found) < len(texts):
            part = [texts[each] for each in order[len(found) : len(found) + size]]
            found += [*self._ask(self._slow, question, request, part, progress=tell)]
            tell("working", 0, 0)
        return [found[place] for place in np.argsort(order)]

    def effects(self, asked: EffectsRequest, *, progress: Progress | None = None) -> Effects:
        """Return what each cell, head and word does to an answer; words are left out in portions.

        Where the answer is saturated, heads are measured, too.

        Args:
            asked: The text, the changes and the answer; an encoder-decoder without a target writes one first.
            progress: Called after each portion, and while there is none.

        Raises:
            EngineError, ModelError, ValueError: As `answer`.
        """
        _, request = self._with_written(asked.request, progress)
        asked = dataclasses.replace(asked, request=request)
        found, words = self._ask(self._slow, child.effects, asked, progress=progress)
        without: dict[Word, float] = {}
        while left := [word for word in words if word not in without]:
            without |= self._ask(self._slow, child.left_out, asked, found.answer, left, progress=progress)
            _tell(progress, "words", len(without), len(words))
        found = found.measured(words, without)
        if abs(found.certainty.log_odds) <= SATURATED or request.changes.ablate:
            return found
        heads = self._effects(request, _config(request.model, store.stamp(request.model)), progress, asked)
        return dataclasses.replace(found, ablated=heads.log_odds)

    def preferences(self, request: PreferenceRequest) -> tuple[Preferences, ...]:
        """Return which words each head of the first layer prefers, in any text.

        Args:
            request: The model, and which word attends.

        Returns:
            Empty if the scores of two words depend on the text, or the word is not in the vocabulary.

        Raises:
            EngineError, ModelError: As `answer`.
        """
        if not _config(request.model, store.stamp(request.model)).has_fixed_scores:
            return ()
        return self._ask(self._quick, child.preferences, request, progress=None)

    def search(self, request: BeamRequest, *, progress: Progress | None = None) -> BeamTree:
        """Search for the likeliest continuation of a text, in portions; at most `MAX_WRITTEN` steps.

        Args:
            request: The text, what is written already, and the beam width.
            progress: Called after each portion, and while there is none.

        Raises:
            EngineError, ModelError, ValueError: As `answer`.
        """
        request, tree = dataclasses.replace(request, most=min(request.most, MAX_WRITTEN)), None
        while tree is None or not tree.is_over:
            tree = self._ask(self._slow, child.search, request, tree, progress=progress)
            _tell(progress, "writing", tree.steps, tree.most)
        return tree

    def check(self) -> None:
        """Check that the quick child responds.

        Raises:
            EngineError: If it does not.
        """
        self._quick.ask(child.ping, limit=QUICK_LIMIT, is_cheap=True)

    def close(self) -> None:
        """End the children immediately."""
        self._quick.close()
        self._slow.close()

    def _with_written(self, request, progress):
        """Return the config, and the request with the target that an encoder-decoder generates for it."""
        config = _config(request.model, store.stamp(request.model))
        if request.target is None and config.architecture == "encoder-decoder":
            request = with_written(config, request, self._written(request, config, progress))
        return config, request

    def _labelled(self, worker, request, trace, progress):
        """Return a trace with its labels: up to 150,000 names, which are sent once for a model."""
        key = request.model, store.stamp(request.model)
        with self._lock:
            labels = self._labels.get(key)
        if labels is None:
            labels = self._ask(worker, child.labels, request, progress=progress)
            with self._lock:
                self._labels[key] = labels
        return dataclasses.replace(trace, labels=labels)

    def _compile_effects(self, model):
        """Compile what explains answers once the quick child has the model, which is needed first.

        What keeps it from that is said to who asks why.
        """
        with contextlib.suppress(EngineError, store.ModelError, ValueError):
            self._ask(self._quick, child.labels, Request(model, ""), progress=None)
            self._ask(self._slow, child.compile_effects, EffectsRequest(Request(model, "")), progress=None)

    def _effects(self, request, config, progress, asked=None):
        """Return the effects of the heads on the prediction, or on what is asked, computed in portions."""
        groups, found = ablations(config), []
        while len(found) < len(groups):
            found += self._ask(
                self._slow, child.certainties, request, groups[len(found) :], asked, progress=progress
            )
            _tell(progress, "effects", len(found), len(groups))
        return HeadEffects.of(config, found)

    @cachedmethod(
        lambda self: self._targets,
        key=lambda self, request, *_: (
            *(request.model, store.stamp(request.model), request.text),
            pickle.dumps(request.changes),  # also of arrays, which have no hash
        ),
        lock=lambda self: self._lock,
    )
    def _written(self, request, config, progress):
        """Return the token ids of the target that an encoder-decoder generates; the last ones are cached.

        The last target of the same text is the draft: with a head off, a model often writes it again.
        """
        key = request.model, store.stamp(request.model), request.text
        with self._lock:
            draft = self._latest.get(key, ())
        written = self._write(request, config, progress, draft)
        with self._lock:
            self._latest[key] = written
        return written

    def _with_target(self, model, text, config, progress):
        """Return a text of a survey with a target, if the model needs one; those are not cached."""
        if not isinstance(text, str) or config.architecture != "encoder-decoder":
            return text
        try:
            request = Request(model, text)
            return text, with_written(config, request, self._write(request, config, progress)).target
        except NoTokensError:
            return text, ""

    def _write(self, request, config, progress, draft=()):
        """Return the token ids of the target that an encoder-decoder generates, in portions."""
        written, finished, most = (), False, min(MAX_WRITTEN, config.target_max_len)
        while not finished:
            written, finished = self._ask(
                self._slow, child.write, request, written, most, draft, progress=progress
            )
            _tell(progress, "writing", len(written), most)
        return written

    def _ask(self, worker, question, request, *args, progress):
        """Send a question to a child, repeatedly while the model is loading."""
        stamp = store.stamp(request.model)
        limit = QUICK_LIMIT if worker is self._quick else SLOW_LIMIT
        is_cheap = worker is self._quick or (
            isinstance(request, Request) and seems_quick(_config(request.model, stamp), request)
        )
        asked = {"limit": limit, "is_cheap": is_cheap}

        def beat(stage):
            _tell(progress, stage, 0, 0)

        while (
            answer := worker.ask(child.answer, question, request, stamp, *args, **asked, beat=beat)
        ) is None:
            _tell(progress, "loading", 0, 0)
            time.sleep(POLL)
        return answer


@functools.lru_cache(64)
def _config(model, stamp):
    """Return the config of a model; `stamp` is part of the cache key."""
    return store.read_config(model)


def _tell(progress, stage, done, total):
    if progress:
        progress(stage, done, total)
