"""What can be predicted in a lesson, what the model does, and whether it keeps what the lesson promises."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.language import Problem, Words
from transformer_viz.lessons.lesson import AFTER, BEFORE, HEAD, KEY, Claim, Lesson
from transformer_viz.pictures.labels import ARROW, answer_text, axis_labels, label_of
from transformer_viz.trace.comparison import compare
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace

Answer = Callable[[Request], Any]
"""Returns the trace of a request, or its `HeadEffects`."""

SAME, OTHER = "same", "other"
"""Choices where the answer is a text: that of A, or another."""

SETTINGS = {"epochs": "train.epochs", "learning_rate": "train.rate", "warmup": "train.warmup"}
"""Setting that trainings differ in -> key of its name."""

WEIGHT_ERROR = 1e-4
"""A weight that differs from a bound by less keeps it."""


class Choices(NamedTuple):
    """What can be predicted.

    Attributes:
        labels: Label of each choice.
        names: Name of each choice, which no other has; a guess is kept by it.
    """

    labels: list[str]
    names: list[str]


class LessonView(NamedTuple):
    """Where the views open in a lesson.

    Attributes:
        name: Name of what the views open on once: the lesson, or its answer.
        question: Its question, in place of what its head does, which is not told yet.
        kind: Kind of attention.
        layer: Layer, 0-based.
        head: Head, 0-based.
        view: View.
        row: Row that is to be predicted before it is shown; None: none.
    """

    name: str
    question: str
    kind: str
    layer: int
    head: int
    view: str
    row: int | None

    def header(self) -> dict[str, Any]:
        """Return what the views are told."""
        return {name: getattr(self, name) for name in ("name", "kind", "layer", "head", "view")}


def view_of(lesson: Lesson, trace: Trace, *, covers: bool, answer: int | None = None) -> LessonView:
    """Return where the views open.

    Args:
        lesson: The lesson.
        trace: What they show.
        covers: Whether the row that is asked for is not shown.
        answer: Number of the head that is the answer, on which they open again; None: they stay.

    Raises:
        Problem: If the model has no such head or token.
    """
    head_weights(lesson, trace)
    row = row_of(lesson, trace) if covers and lesson.predict and lesson.predict.ask == KEY else None
    kind = lesson.kind_among(trace.kinds())
    name, head = (lesson.name, lesson.head - 1) if answer is None else (f"{lesson.name} {answer}", answer)
    return LessonView(name, lesson.question, kind, lesson.layer - 1, head, lesson.view or "all", row)


def choices_of(words: Words, lesson: Lesson, trace: Trace) -> Choices:
    """Return what can be predicted; nothing if the lesson asks nothing.

    Args:
        words: Sentences of the visitor's language.
        lesson: The lesson.
        trace: The answer to its A.
    """
    kind = lesson.kind_among(trace.kinds())
    match lesson.predict and lesson.predict.ask:
        case "key":
            labels = _numbered(axis_labels(trace)[kind][1])
        case "head":
            heads = range(1, len(trace.kinds()[kind].layers[0].weights) + 1)
            labels = [words("lesson.head", head=head) for head in heads]
        case "answer" if trace.probs.ndim == 1:
            labels = [label_of(trace, number) for number in range(len(trace.labels))]
        case "answer":
            return Choices([words("lesson.same"), words("lesson.other")], [SAME, OTHER])
        case _:
            labels = []
    return Choices(labels, [str(number) for number in range(len(labels))])


def trainings_of(words: Words, lesson: Lesson) -> Choices:
    """Return the trainings of which a lesson asks which one ends best, by the setting that they differ in."""
    asked = lesson.predict
    if asked is None:
        return Choices([], [])
    labels = [f"{words(SETTINGS[asked.setting])} {value:g}" for value in asked.values]
    return Choices(labels, [str(number) for number in range(len(labels))])


def truth_of(lesson: Lesson, model: str, answer: Answer) -> tuple[str, float | None]:
    """Return the name of the right choice, as the model has it, and its weight, probability or log-odds.

    Args:
        lesson: A lesson that asks something.
        model: Its model, as a request names it.
        answer: Returns the answer to a request.

    Raises:
        Problem: If the model has no such head or token.
    """
    trace: Trace = answer(lesson.request(model))
    if lesson.predict is None or lesson.predict.ask == KEY:
        row = head_weights(lesson, trace)[row_of(lesson, trace)]
        return str(int(row.argmax())), float(row.max())
    if lesson.predict.ask == HEAD:
        lost = losses_of(lesson, model, answer)
        return str(int(lost.argmax())), float(lost.max())
    after: Trace = answer(lesson.request(model, AFTER))
    if after.probs.ndim == 1:
        return str(int(after.probs.argmax())), float(after.probs.max())
    return (SAME if answer_text(after) == answer_text(trace) else OTHER), None


def losses_of(lesson: Lesson, model: str, answer: Answer) -> np.ndarray:
    """Return how much log-odds the answer in A loses without each head of the lesson's layer: float (head,).

    Arguments and errors are those of `truth_of`.
    """
    trace: Trace = answer(lesson.request(model))
    head_weights(lesson, trace)
    return answer(lesson.effects_request(model)).log_odds[lesson.kind_among(trace.kinds())][lesson.layer - 1]


def row_of(lesson: Lesson, trace: Trace, query: str | None = None) -> int:
    """Return the number of a row: that of a token, by default the one that is asked for.

    Raises:
        Problem: If no row, or more than one, has that token.
    """
    name = query if query is not None else lesson.predict.query if lesson.predict else ""
    rows = axis_labels(trace)[lesson.kind_among(trace.kinds())][0]
    return _place(lesson, name, rows)


def head_weights(lesson: Lesson, trace: Trace) -> np.ndarray:
    """Return the weights of the lesson's head: float (query, key).

    Raises:
        Problem: If the model has no such head.
    """
    layers = trace.kinds()[lesson.kind_among(trace.kinds())].layers
    if lesson.layer > len(layers) or lesson.head > len(layers[0].weights):
        raise Problem("lesson.no_head", name=lesson.name, layer=lesson.layer, head=lesson.head)
    return layers[lesson.layer - 1].weights[lesson.head - 1]


def broken_claims(lesson: Lesson, model: str, answer: Answer) -> list[Claim]:
    """Return what the lesson promises and the model does not keep; arguments as for `truth_of`."""
    return [claim for claim in lesson.claims if not _holds(claim, lesson, model, answer)]


def _holds(claim, lesson, model, answer):
    trace: Trace = answer(lesson.request(model, claim.run, claim.text))
    match claim.of:
        case "weight":
            keys = axis_labels(trace)[lesson.kind_among(trace.kinds())][1]
            row = head_weights(lesson, trace)[row_of(lesson, trace, claim.query)]
            found = row[_place(lesson, claim.key, keys)]
        case "answer":
            probs = trace.answer_probs
            labels = [label_of(trace, number) for number in range(len(trace.labels))]
            found = probs[_place(lesson, claim.label, labels)]
        case "moved":
            moved = compare(trace, answer(lesson.request(model, AFTER))).moved
            found = moved[lesson.kind_among(moved)][lesson.layer - 1, lesson.head - 1]
        case "effect":
            found = losses_of(lesson, model, answer)[claim.head - 1]
        case _:
            texts = (answer_text(answer(lesson.request(model, run))) for run in (BEFORE, AFTER))
            return (len(set(texts)) > 1) == claim.differs
    is_enough = claim.least is None or found >= claim.least - WEIGHT_ERROR
    return bool(is_enough and (claim.most is None or found <= claim.most + WEIGHT_ERROR))


def _place(lesson, name, labels):
    """Return the place of a label; that of a writing model's row may be named without what comes next."""
    found = [place for place, label in enumerate(labels) if label == name]
    found = found or [place for place, label in enumerate(labels) if label.split(ARROW)[0] == name]
    if len(found) != 1:
        raise Problem("lesson.token", name=lesson.name, token=name, tokens=", ".join(map(str, labels[:40])))
    return found[0]


def _numbered(labels):
    """Return labels of which those that occur more than once have their number behind them."""
    return [
        f"{label} ({labels[: place + 1].count(label)})" if labels.count(label) > 1 else label
        for place, label in enumerate(labels)
    ]
