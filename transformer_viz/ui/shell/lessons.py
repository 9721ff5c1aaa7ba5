"""The lesson that is open, kept in the URL; opening one sets everything that its pages show."""

import streamlit as st

from transformer_viz.language import Problem
from transformer_viz.lessons.lesson import Lesson
from transformer_viz.lessons.read import Shelf, list_lessons
from transformer_viz.pictures.changes import is_offered
from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.changing import begin_unchanged
from transformer_viz.ui.shell.language import words
from transformer_viz.ui.shell.projector import keep_choice

LESSON = "lesson"
"""Session and URL key of the name of the lesson that is open; "": none."""

TO_OPEN = "page-to-open"
"""Session key of the name of a page that is yet to be opened."""

GUESS, GUESSED, REVEALED = "lesson-guess", "lesson-guessed", "lesson-revealed"
"""Session keys: the choice, what was chosen when the lesson was revealed, and the lesson that is revealed."""


def lessons() -> Shelf:
    """Return the lessons in the visitor's language; one whose changes the page cannot show is a problem."""
    shelf = list_lessons(words().language)
    shown = [lesson for lesson in shelf.lessons if is_offered(lesson.changes)]
    others = [Problem("lesson.hidden", path=f"{each.name}.md") for each in shelf.lessons if each not in shown]
    return Shelf(shown, shelf.problems + others)


def begin(lesson: Lesson) -> None:
    """Open a lesson: set its page, its model, text and target, and take back all changes and choices."""
    begin_unchanged()
    shown = {LESSON: lesson.name, "model": lesson.model, "sentence": lesson.text, "effects": False}
    st.session_state.update(shown | {"target": lesson.target or "", TO_OPEN: lesson.page})
    if lesson.task:
        st.session_state.update(task=lesson.task, run="")
    for key in ("examples", GUESS, GUESSED, REVEALED):
        st.session_state.pop(key, None)


def begin_from_address() -> None:
    """Open the lesson that the URL names, unless the visitor is in one already or has closed it."""
    name = st.query_params.get(LESSON, "")
    if not name or LESSON in st.session_state:
        return
    keep_choice()  # of a projector: the page that the lesson opens may have another address
    for lesson in lessons().lessons:
        if lesson.name == name:
            begin(lesson)


def open_lesson() -> tuple[Lesson | None, list[Lesson]]:
    """Return the lesson that is open, kept in the URL, and all lessons; None: no lesson is open."""
    keep(LESSON, "")
    name = st.session_state[LESSON]
    found = lessons().lessons if name else []
    lesson = next((each for each in found if each.name == name), None)
    to_address(LESSON, lesson.name if lesson else "")
    return lesson, found


def close() -> None:
    """Close the lesson; what is shown stays."""
    st.session_state[LESSON] = ""
