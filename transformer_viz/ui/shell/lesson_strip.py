"""The lesson at the bottom of the window: question, what to see, to do and to predict, what it shows."""

import contextlib
from collections.abc import Iterator
from typing import Any

import streamlit as st

from transformer_viz import store
from transformer_viz.language import Problem
from transformer_viz.lessons.lesson import ANSWER, HEAD, KEY, TRAINING, Lesson
from transformer_viz.pictures.lessons import (
    broken_claims,
    choices_of,
    losses_of,
    trainings_of,
    truth_of,
)
from transformer_viz.trace.request import EFFECTS, Request
from transformer_viz.training.runs.listing import best_training
from transformer_viz.ui.shell.answers import answer, head_effects
from transformer_viz.ui.shell.card import metric_name, metric_text
from transformer_viz.ui.shell.changing import begin_compared
from transformer_viz.ui.shell.classroom import own_runs
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.lessons import GUESS, GUESSED, REVEALED, begin, close, open_lesson
from transformer_viz.ui.shell.problems import show_problem
from transformer_viz.ui.shell.projector import is_for_projector
from transformer_viz.ui.shell.shelf import shown_models

ROOM = "<style>:root {{ --below: {below}; --beside: {beside} }}</style>"
"""What the page leaves free for the strip: a height below it, or for a projector a width beside it; without a
lesson it is sent too, as `projector.USUAL`.
"""


def show_room(lesson: Lesson | None) -> None:
    """Leave room for the strip of a lesson, before the views are drawn; None: no lesson is open."""
    is_large = lesson is not None and is_for_projector()
    height = "var(--strip-large)" if is_large else "var(--strip)" if lesson else "0px"
    st.html(ROOM.format(below=height, beside="var(--aside)" if is_large else "0px"))


@contextlib.contextmanager
def beside_lesson(page: str) -> Iterator[Lesson | None]:
    """Show the strip of the lesson that is open, below what a page shows meanwhile; yield the lesson.

    For a projector it stands beside the page, in letters that can be read from the back of a room.
    """
    lesson, all_lessons = open_lesson()
    is_large = lesson is not None and is_for_projector()
    yield lesson
    if lesson:
        with st.container(key="lesson-large") if is_large else contextlib.nullcontext():
            show_lesson(lesson, all_lessons, page)


def show_lesson(lesson: Lesson, all_lessons: list[Lesson], page: str) -> None:
    """Show the strip.

    Args:
        lesson: The lesson.
        all_lessons: All lessons in their order, for the way to the next one.
        page: The page it stands on.
    """
    with st.container(key="lesson", horizontal=True):
        _show_part("question", t("lesson.question"), escaped(lesson.question))
        if _is_revealed(lesson):
            _show_part("shown", t("lesson.shown"), lesson.reveal)
        else:
            _show_part("see", t("lesson.see"), lesson.see)
            _show_part("do", t("lesson.do"), lesson.do)
        predict = st.container(key="lesson-part-predict")
        with st.container(key="lesson-part-turn"):
            _show_turns(lesson, all_lessons, page)
        with predict:  # last: it may have to wait for the model
            _show_prediction(lesson)


def _show_part(name, title, text):
    with st.container(key=f"lesson-part-{name}"):
        st.markdown(f"##### {title}")
        st.markdown(text)


def _show_turns(lesson, all_lessons, page):
    place = all_lessons.index(lesson)
    st.markdown(f"##### {t('lesson.place', number=place + 1, count=len(all_lessons))}")
    st.markdown(f"**{escaped(lesson.title)}**")
    with st.container(horizontal=True, gap="xsmall"):
        for name, step in (("back", -1), ("next", 1)):
            there = 0 <= place + step < len(all_lessons)
            to = all_lessons[place + step] if there else lesson
            # history.js adds no entry for a page that such a button leaves
            key = f"turn-{name}" if to.page == page else f"leave-turn-{name}"
            st.button(t(f"lesson.{name}"), on_click=begin, args=(to,), disabled=not there, key=key)
        st.button(t("lesson.close"), on_click=close, type="tertiary", key="turn-close")


def _show_prediction(lesson):
    model = _model_of(lesson)
    if model is None:
        st.markdown(t("lesson.no_model", model=escaped(lesson.model)))
        return
    if lesson.predict is None:
        st.markdown(f"##### {t('lesson.notes' if _is_revealed(lesson) else 'lesson.shown')}")
        if _is_revealed(lesson):
            _show_notes(lesson)
        else:
            _show_reveal(lesson, model.reference)
        return
    st.markdown(f"##### {t('lesson.predict')}")
    try:
        if lesson.predict.ask == TRAINING:
            choices = trainings_of(words(), lesson)
        else:
            choices = choices_of(words(), lesson, _found(lesson.request(model.reference)))
        labels = dict(zip(choices.names, choices.labels, strict=True))
        if _is_revealed(lesson):
            _show_truth(lesson, model.reference, labels)
        else:
            question = {
                KEY: t("lesson.ask.key", query=lesson.predict.query),
                ANSWER: t("lesson.ask.answer"),
                HEAD: t("lesson.ask.head"),
                TRAINING: t("lesson.ask.training"),
            }[lesson.predict.ask]
            shown = {name: escaped(label) for name, label in labels.items()}
            st.pills(escaped(question), choices.names, format_func=shown.__getitem__, key=GUESS)
            _show_reveal(lesson, model.reference)
    except Problem as problem:
        show_problem(problem)


def _show_reveal(lesson, model):
    args = lesson, model
    st.button(t("lesson.reveal"), type="primary", on_click=_reveal, args=args, key="lesson-reveal")


def _show_truth(lesson, model, labels):
    """Say what the model does, or the visitor's own trainings did, and whether the guess was right."""
    has_trained, trained = lesson.predict.ask == TRAINING, None
    if has_trained:
        trained = best_training(lesson, own_runs())
        found = trained and (trained.best, None)
    else:
        found = truth_of(lesson, model, _found)
    if found is None:
        st.markdown(t("lesson.untrained", choices=escaped(t("list.comma").join(labels.values()))))
    else:
        right, number = found
        share = "" if number is None else f" {number:.2f}" if lesson.predict.ask == HEAD else f" {number:.0%}"
        truth, guess = f"**{escaped(labels[right])}**{share}", st.session_state.get(GUESSED)
        whose = t("lesson.trainings" if has_trained else "lesson.model", truth=truth)
        if guess not in labels:
            st.markdown(whose)
        elif guess == right:
            st.markdown(t("lesson.right", truth=truth))
        else:
            st.markdown(t("lesson.wrong", guess=escaped(labels[guess]), truth=whose))
    if lesson.predict.ask == HEAD:
        lost = losses_of(lesson, model, _found)
        st.caption(t("lesson.losses", losses=" · ".join(f"{each:.2f}".replace("-", "−") for each in lost)))
    if trained:
        st.caption(_scores_text(trained, labels.values()))
    if broken_claims(lesson, model, _found):
        st.caption(t("lesson.broken"))
    with st.popover(t("lesson.notes"), type="tertiary"):
        _show_notes(lesson)


def _scores_text(trained, labels):
    """Return what each of the trainings has reached, as a sentence."""
    named = zip(labels, trained.scores, strict=True)
    each = [
        t("lesson.score", training=escaped(label), value=metric_text(trained.metric, score))
        for label, score in named
    ]
    return t("lesson.scores", metric=metric_name(trained.metric), scores=t("list.comma").join(each))


def _show_notes(lesson):
    st.markdown(lesson.notes)
    st.caption(escaped(lesson.source))


def _reveal(lesson, model):
    """Show what the lesson is about: its B, or the effect of the heads."""
    st.session_state[REVEALED] = lesson.name
    st.session_state[GUESSED] = st.session_state.get(GUESS)
    if lesson.compares:
        begin_compared(lesson.request(model), lesson.changes)
        st.session_state.sentence = lesson.text if lesson.after_text is None else lesson.after_text
    if lesson.predict and lesson.predict.ask == HEAD:
        st.session_state.effects = True


def _is_revealed(lesson):
    return st.session_state.get(REVEALED) == lesson.name


def _model_of(lesson) -> store.ModelSummary | None:
    shown = (model for model in shown_models() if model.name == lesson.model and not model.error)
    return next(shown, None)


def _found(request: Request) -> Any:
    """Return the answer to a request; what keeps it from being found is shown, and the page ends."""
    found = head_effects(request) if request.wants == EFFECTS else answer(request)
    return st.stop() if found is None else found
