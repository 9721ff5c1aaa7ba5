"""The Lessons page: all lessons, each of which opens on its page."""

from collections.abc import Callable, Sequence

import streamlit as st

from transformer_viz.lessons.lesson import Lesson
from transformer_viz.pictures.worksheet import worksheet
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.lessons import lessons
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.shelf import shown_models


def show(open_lesson: Callable[[Lesson], None]) -> None:
    """Show the page; `open_lesson(lesson)` opens a lesson on its page."""
    shelf = lessons()
    minutes = sum(lesson.minutes for lesson in shelf.lessons)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(t("lessons.title"), anchor=False)
        if shelf.lessons:
            show_downloads(shelf.lessons)
    st.caption(t("lessons.about", count=len(shelf.lessons), minutes=minutes))
    names = {model.name for model in shown_models() if not model.error}
    with st.container(key="lesson-cards"):
        for number, lesson in enumerate(shelf.lessons, 1):
            show_card(number, lesson, open_lesson, has_model=lesson.model in names)
    for problem in shelf.problems:
        show_problem(problem)


def show_downloads(all_lessons: Sequence[Lesson]) -> None:
    """Show buttons that save the lessons as pages to print, for students and for the teacher."""
    for name, for_teacher in (("get", False), ("get_teacher", True)):
        st.download_button(
            t(f"worksheet.{name}"),
            worksheet(words(), all_lessons, for_teacher=for_teacher),
            file_name=f"lessons-{'teacher' if for_teacher else 'worksheet'}-{words().language}.html",
            mime="text/html",
            icon=":material/print:",
            help=t(f"worksheet.{name}_help"),
            on_click="ignore",
            key=f"worksheet-{name}",
        )


def show_card(number: int, lesson: Lesson, open_lesson: Callable[[Lesson], None], *, has_model: bool) -> None:
    """Show a lesson as a card that opens it."""
    with st.container(border=True, key=f"lesson-card-{number}"):
        title = f"{number} · {escaped(lesson.title)}"
        if st.button(title, type="tertiary", disabled=not has_model, key=f"leave-lesson-{number}"):
            open_lesson(lesson)
        st.markdown(escaped(lesson.question))
        st.caption(t("lessons.facts", minutes=lesson.minutes, model=escaped(lesson.model)))
        if not has_model:
            st.caption(t("lesson.no_model", model=escaped(lesson.model)))
