"""Where the views open in a lesson, and what they cover."""

from collections.abc import Callable
from typing import Any

from transformer_viz.language import Problem
from transformer_viz.lessons.lesson import HEAD, Lesson
from transformer_viz.lessons.read import list_lessons
from transformer_viz.pictures.lessons import LessonView, truth_of, view_of
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.workbench.asked import Asked


def lesson_view(asked: Asked, trace: Trace, ask: Callable[[Request], Any]) -> LessonView | None:
    """Return where the views open; the row that is asked for is covered until the lesson is revealed.

    None if no lesson is open, or the model is not that of the lesson, or does not fit it.

    Args:
        asked: What is asked.
        trace: What the views show.
        ask: Returns the answer to a request.
    """
    found = list_lessons(asked.language).lessons if asked.lesson else []
    lesson = next((each for each in found if each.name == asked.lesson), None)
    if lesson is None or lesson.model != asked.model.name:
        return None
    covers = asked.request == lesson.request(asked.model.reference) and not asked.revealed
    try:
        return view_of(lesson, trace, covers=covers, answer=_head_to_show(asked, lesson, ask))
    except Problem:  # the strip says so
        return None


def _head_to_show(asked, lesson: Lesson, ask):
    """Return the head that a revealed lesson is about: that of its answer, or its own in the comparison."""
    if not asked.revealed:
        return None
    if lesson.predict and lesson.predict.ask == HEAD:
        head, _ = truth_of(lesson, asked.model.reference, ask)
        return int(head)
    return lesson.head - 1 if lesson.compares else None
