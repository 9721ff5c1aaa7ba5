"""A question of the workbench, and its answer: a run, or the reasons for what the model answers."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from transformer_viz import store
from transformer_viz.language import Problem, Words
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.service.engine import EngineError
from transformer_viz.store.places import command
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import EFFECTS, READING, UNCHANGED
from transformer_viz.trace.top_tokens import is_whole
from transformer_viz.ui.shell.answers import cached_answer, whole_answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.journal import note
from transformer_viz.ui.shell.server import shared_engine
from transformer_viz.ui.shell.shelf import found_model, usable_models
from transformer_viz.ui.shell.unexpected import note_unexpected
from transformer_viz.ui.workbench.asked import MALFORMED, Asked, UnknownError, read
from transformer_viz.ui.workbench.experiment import Experiment
from transformer_viz.ui.workbench.lesson import lesson_view
from transformer_viz.ui.workbench.masks import masks
from transformer_viz.ui.workbench.positions import positions
from transformer_viz.ui.workbench.reasons import (
    About,
    about_of,
    asks_why,
    compared_reasons_bytes,
    question_about_same,
    reasons_bytes,
    why_not,
)
from transformer_viz.ui.workbench.said import plain, problem_of
from transformer_viz.ui.workbench.seat import Run, Seat
from transformer_viz.ui.workbench.view import File, Found, file_of, map_bytes, vectors_of_layer, view_bytes

Tell = Callable[[dict[str, Any] | None], None]
"""Sends a line to the browser; None: nothing. It raises `GoneError` once nobody reads any more."""

RUN, WHY, MAP = "run", "why", "map"
"""What can be asked."""


class GoneError(Exception):
    """Nobody waits for the answer."""


@dataclass(frozen=True)
class Question:
    """What is asked in a session.

    Attributes:
        seat: Of the session.
        asked: The run, and how it is shown.
        wants: What is wanted of it: `RUN`, `WHY` or `MAP`.
        about: Which answer is explained, as the browser names it.
        experiment: page: the one whose experiment is made; what is chosen there; empty: none is.
        is_live: Whether it is asked while someone types: such a run is not the one that other pages show.
    """

    seat: Seat
    asked: Asked
    wants: str = RUN
    about: tuple[tuple[str, str], ...] = ()
    experiment: tuple[tuple[str, str], ...] = ()
    is_live: bool = False

    @classmethod
    def read(cls, seat: Seat, given: Any) -> Self:
        """Read what a browser asks: a run, an act that changes it, and what is wanted of it.

        Raises:
            UnknownError: If no page asks this.
        """
        find = partial(found_model, folder=seat.folder)
        asked = read(given, find)
        act, wants = given.get("act"), given.get("wants")
        if isinstance(act, Mapping):
            try:
                asked = asked.after(act, find)
            except MALFORMED as error:
                raise UnknownError(f"Nothing can do this act ({type(error).__name__}).") from None
        if wants not in (None, RUN, WHY, MAP):
            raise UnknownError("Nothing else can be wanted of a run.")
        about, experiment = (_named(given.get(name)) for name in ("about", "experiment"))
        return cls(seat, asked, wants or RUN, about, experiment, given.get("live") is True)

    @property
    def facts(self) -> str:
        """All that tells it from others, and its answer from those of other models."""
        before = self.asked.before
        stamps = [store.stamp(each.model) for each in (self.asked.request, before) if each]
        return repr((self.wants, self.about, self.experiment, self.asked.facts, stamps))

    def answer(self, tell: Tell) -> tuple[dict[str, Any], bytes]:
        """Return the last line for the browser, and the bytes of the answer; without one, it says why.

        Args:
            tell: Is told the steps of the work.
        """
        words, asked = Words(self.asked.language), self.asked
        header: dict[str, Any] = {"state": asked.state}
        if self.is_live and not shared_engine().is_free:  # who has pressed Enter comes first
            return header | {"busy": True}, b""
        if not str(asked.request.text).strip():
            return header | {"hint": words("sentence.empty")}, b""
        restarts = shared_engine().restarts
        try:
            content = self.content(partial(_tell, tell, words))
            header["key"] = self.seat.key_of(self, self.facts)
            header["stamp"] = store.stamp(asked.model.reference)
        except GoneError:
            raise
        except (EngineError, store.ModelError, ValueError) as error:
            return header | said_of_error(words, self, error), b""
        except Exception as error:
            return self._without_what_breaks(error, tell)
        if shared_engine().restarts > restarts:
            header["hint"] = words("engine.restarted")
        if self.wants != WHY and not self.is_live:
            self.seat.shown = _run(asked)  # of an experiment, the text: the rest is of its page alone
        return header, content

    def _without_what_breaks(self, error: Exception, tell: Tell) -> tuple[dict[str, Any], bytes]:
        """Return the answer without the part of what is asked that breaks it, or else what is to be said."""
        words = Words(self.asked.language)
        number = note_unexpected(error, self.seat.visitor)
        for part, asked in _simpler(self.asked):
            question = replace(self, asked=asked)
            try:
                content = question.content(partial(_tell, tell, words))
            except GoneError:
                raise
            except Exception:  # noqa: S112  the first error is logged; the next trial leaves out more
                continue
            left_out = words("recovery.part", part=part, number=number)
            header = {"state": asked.state, "key": self.seat.key_of(question, question.facts)}
            return header | {"left_out": left_out, "looks": asked.looks, "ablates": asked.ablates}, content
        return {"state": self.asked.state, "problem": words("unexpected.sorry", number=number)}, b""

    def made(self, progress: Callable[[str, int, int], None]) -> Experiment:
        """Return what is to be shown: the runs of the experiment, or the run and the one it is compared with.

        Errors as for `Engine.answer`.
        """
        asked, ask = self.asked, partial(_asked, progress)
        given = dict(self.experiment)
        if given.get("page") == "masks":
            return masks(asked, given, ask)
        if given.get("page") == "positions":
            return positions(asked, given, ask, usable_models(self.seat.folder))
        trace: Any = ask(asked.request)
        former: Any = asked.before and ask(asked.before)
        wants_heads = asked.ablates and former is None and trace.labels and not asked.request.changes.ablate
        heads: Any = ask(replace(asked.request, wants=EFFECTS)) if wants_heads else None
        return Experiment(asked, Found(trace, former, heads))

    def content(self, progress: Callable[[str, int, int], None]) -> bytes:
        """Return the bytes of the answer; errors as for `Engine.answer`."""
        made = self.made(progress)
        if self.wants == WHY:
            return self._reasons(made, progress)
        if self.wants == MAP:
            reading: Any = None
            if made.found.trace.labels:
                reading = _asked(progress, replace(made.asked.request, wants=READING))
            return map_bytes(made, reading, partial(usable_models, self.seat.folder))
        lesson = None if made.menu else lesson_view(made.asked, made.found.trace, partial(_asked, progress))
        return view_bytes(made, partial(usable_models, self.seat.folder), lesson)

    def effects(
        self, made: Experiment, progress: Callable[[str, int, int], None]
    ) -> tuple[About, Effects | tuple[Effects, Effects]] | None:
        """Return which answer is explained, and its effects, of two runs those of both; None: none."""
        asked, found, ask = made.asked, made.found, partial(_asked, progress)
        config, first, words = config_of(asked.model), found.former or found.trace, Words(asked.language)
        if not asks_why(config, first) or why_not(words, found.trace):
            return None
        about = about_of(dict(self.about), config, first)
        if asked.before is None or found.former is None:
            only: Any = ask(EffectsRequest(asked.request, *about))
            return about, only
        one: Any = ask(EffectsRequest(asked.before, *about))
        other: Any = ask(question_about_same(asked, about, found.former, found.trace, one))
        return about, (one, other)

    def _reasons(self, made, progress):
        known, words = self.effects(made, progress), Words(self.asked.language)
        if known is None:
            raise Problem("why.unknown")
        about, effects = known
        comparison = made.found.comparison(made.asked)
        if isinstance(effects, tuple) and comparison is not None:
            return compared_reasons_bytes(words, made.asked, comparison, effects, about)
        return reasons_bytes(words, made.asked, made.found.trace, cast(Effects, effects), about)


def _named(given: Any) -> tuple[tuple[str, str], ...]:
    """Return names and texts that a browser sends, in order, without those that are empty."""
    if not isinstance(given, Mapping):
        return ()
    return tuple(sorted((str(name), str(value)) for name, value in given.items() if value))


def view(question: Question) -> bytes | None:
    """Return the bytes of an answer once more; None: there is none any more."""
    try:
        return question.content(_silent)
    except (EngineError, store.ModelError, ValueError):
        return None


def vectors(question: Question, kind: str, layer: int) -> bytes | None:
    """Return the vectors of a layer of a run; None: it has no such layer, or there is no run any more."""
    try:
        made = question.made(_silent)
        return vectors_of_layer(made.asked, made.found, kind, layer)
    except (EngineError, store.ModelError, ValueError, KeyError, IndexError):
        return None


def export(question: Question, kind: str, given: Any) -> File | None:
    """Return all that a run shows as a file; None: there is no such file, or no run any more.

    Args:
        question: What was asked.
        kind: As `file_of` takes it.
        given: start: the selection on which a page opens; about: which answer is explained, if any is.
    """
    start, about = (
        (given.get(name) for name in ("start", "about")) if isinstance(given, dict) else (None,) * 2
    )
    try:
        made = question.made(_silent)
        if kind == "npz" and not is_whole(made.found.trace):
            whole = whole_answer(made.asked.request)
            made = made._replace(found=made.found._replace(trace=whole))
        explained = None
        if isinstance(about, dict):
            explained = replace(question, about=_named(about)).effects(made, _silent)
        effects = None if explained is None else explained[1]
        return file_of(made.asked, made.found, effects, kind, start if isinstance(start, dict) else None)
    except (EngineError, store.ModelError, ValueError):
        return None


def _simpler(asked: Asked) -> Iterator[tuple[str, Asked]]:
    """Yield what is asked without one of its parts, with the name of that part, and last without any."""
    plain_request = replace(asked.request, changes=UNCHANGED)
    parts = {
        "looks": asked._replace(looks=()),
        "effects": asked._replace(ablates=False),
        "before": asked._replace(before=None),
        "changes": asked._replace(request=plain_request),
        "lesson": asked._replace(lesson=""),
    }
    for name, simpler in parts.items():
        if simpler != asked:
            yield name, simpler
    bare = Asked(asked.model, plain_request, asked.language)
    if bare != asked:
        yield "…", bare


def _run(asked: Asked) -> Run:
    """Return what is asked as the address holds it."""
    changes = asked.request.changes.to_dict()
    before = asked.before.to_json() if asked.before else ""
    written = json.dumps(changes, ensure_ascii=False, separators=(",", ":")) if changes else ""
    return Run.of(asked.request, written, before)


def said_of_error(words: Words, question: Question, error: Exception) -> dict[str, str]:
    """Return why there is no answer, as a hint or a problem in one sentence."""
    model, own = question.asked.model.name, question.seat.folder
    if isinstance(error, NoTokensError):
        return {"hint": words("sentence.no_tokens")}
    if isinstance(error, EngineError):
        facts: Any = {"model": Path(model).name, "code": error.code, **error.facts}
        note("engine", level=logging.WARNING, by=question.seat.visitor, **facts)
        return {"problem": words(f"engine.{error.code}", command=command(), **error.facts)}
    if isinstance(error, store.ModelError):
        return {"problem": words("model.unreadable", reason=problem_of(words, error, own))}
    return {"problem": problem_of(words, error, own)}


def _tell(tell, words, stage, done, total):
    said = words(f"work.{stage}", count=done, done=done, total=total)
    tell({"said": plain(said), "share": done / total if total else 0})


def _silent(_stage, _done, _total):
    """Tell nobody."""


def _asked(progress, request):
    """Return the answer of the engine to a request, or the one that is kept."""
    return cached_answer(request, store.stamp(request.model), progress)
