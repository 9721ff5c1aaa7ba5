"""The workbench on the page: its one component, and what it has in common with the widgets around it."""

import streamlit as st

from transformer_viz import store
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.card_facts import config_of, examples_of
from transformer_viz.ui.shell.changing import BEFORE, CHANGES
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t, words
from transformer_viz.ui.shell.lessons import REVEALED, TO_OPEN, begin, lessons, open_lesson
from transformer_viz.ui.shell.projector import KEY as PROJECTOR
from transformer_viz.ui.shell.projector import is_projected, keep_projector
from transformer_viz.ui.shell.session import visitor
from transformer_viz.ui.shell.shelf import home
from transformer_viz.ui.workbench.seat import Run, Seat, new_seat

KEY = "workbench"
"""Key of the component."""

SEAT, SEEN, OPENED, TOLD = "seat", "seen-run", "opened-run", "told-lesson"
"""Session keys: the seat, the run that browser and widgets last had in common, what was opened last, and the
lesson of which the workbench was told.
"""

WIDGETS = ("sentence", "target", CHANGES, BEFORE)
"""Session keys of the parts of a `Run`."""

WORDS = (
    *("sentence.label", "sentence.placeholder", "sentence.show", "sentence.show.help", "sentence.examples"),
    *("target.label", "target.placeholder", "work.working", "work.give_up", "work.given_up", "work.again"),
    *("why.label", "why.help", "why.about", "why.about.help", "looks.label", "looks.help", "list.comma"),
    *("effects.help", "runs.earlier", "runs.a", "runs.b", "change.undo_all", "change.end"),
    *("change.compare_there", "change.compare_there.help"),
    *("runs.changes.one", "runs.changes.other", "unexpected.again"),
    *("download.csv", "download.npz", "download.html", "download.effects"),
    *("bench.edit", "bench.edit_help", "bench.word", "bench.bring", "bench.take_away", "bench.other_token"),
    *("bench.refused", "bench.unreachable", "masks.paint_hint", "masks.paint_elsewhere"),
    *("masks.undo", "masks.invert", "masks.invert_help", "masks.clear", "masks.clear_help"),
)
"""Sentences of the workbench itself; those about a run come with it."""


def own_seat() -> Seat:
    """Return the seat of this session."""
    seat = st.session_state.get(SEAT)
    if seat is None:
        seat = st.session_state[SEAT] = new_seat(visitor())
    seat.folder = home().folder
    return seat


def take_shown() -> None:
    """Give the widgets of this session what the workbench shows, if that has changed; before any of them.

    What they have opened since, as a lesson does, is not lost: the workbench is told of it.
    """
    shown = own_seat().shown
    if shown is not None and shown != st.session_state.get(SEEN) and not _have_opened():
        st.session_state.update(zip(WIDGETS, shown, strict=True))
        st.session_state[SEEN] = shown


def show_workbench(page: str, model: store.ModelSummary) -> None:
    """Show the workbench of a page for a model."""
    seat, lesson = own_seat(), open_lesson()[0]
    keep_projector()
    st.session_state[TOLD] = _lesson()
    told = {
        "token": seat.token,
        "page": page,
        "model": model.name,
        "stamp": store.stamp(model.reference),
        "language": words().language,
        "examples": examples_of(model.card),
        "hasTarget": config_of(model).architecture == "encoder-decoder",
        "isLive": config_of(model).architecture != "encoder-decoder",
        "lesson": st.session_state[TOLD],
        "opened": _opened(seat),
        "firstLesson": None if lesson else _first_lesson(),
        "projected": is_projected(),
        "words": {key: _template(key) for key in WORDS},
    }
    component("workbench", "lens", "pipeline", "map", "workbench")(
        data=told,
        key=KEY,
        default={"projected": is_projected()},
        on_projected_change=_project,
        on_model_change=_choose_model,
        on_lesson_change=_begin_first,
        on_page_change=_open_page,
    )


def has_news() -> bool:
    """Return whether what is below the workbench has opened something of which it was not told."""
    return st.session_state.get(TOLD) != _lesson() or _have_opened()


def _have_opened():
    """Return whether the widgets hold another run than the one that they had in common with the browser."""
    return "sentence" in st.session_state and _run() != st.session_state.get(SEEN)


def _lesson():
    """Return the name of the lesson that is open, and whether it is revealed; None: none is."""
    lesson = open_lesson()[0]
    return lesson and {"name": lesson.name, "revealed": st.session_state.get(REVEALED) == lesson.name}


def _run():
    """Return the run that the widgets hold."""
    return Run(*(st.session_state.get(name) or "" for name in WIDGETS))


def _template(key):
    """Return a sentence of the visitor's language with its {names} unreplaced; Chinese has no singular."""
    sentences = words().sentences
    return sentences.get(key) or sentences[f"{key.removesuffix('.one')}.other"]


def _opened(seat):
    """Return the run that widgets or a lesson have opened since, for the browser; None: none yet."""
    state = st.session_state
    if "sentence" in state:
        ablates = bool(state.pop("effects", False))
        if _have_opened() or ablates:
            state[SEEN] = seat.shown = run = _run()
            number = (state.get(OPENED) or {"number": 0})["number"] + 1
            state[OPENED] = {"number": number, "ablates": ablates, **run._asdict()}
    return state.get(OPENED)


def _first_lesson():
    """Return what leads to the first lesson; None: there is none."""
    first = next(iter(lessons().lessons), None)
    return first and t("bench.first_lesson", minutes=first.minutes)


def _begin_first():
    """Open the first lesson."""
    begin(lessons().lessons[0])


def _project():
    """Keep the size that was chosen in the views for the other pages."""
    st.session_state[PROJECTOR] = st.session_state[KEY].projected


def _open_page():
    """Open another page about the model."""
    st.session_state[TO_OPEN] = str(st.session_state[KEY].page)


def _choose_model():
    """Choose the model that the workbench shows."""
    st.session_state.model = st.session_state[KEY].model


def shown_request(model: store.ModelSummary) -> Request | None:
    """Return the request that the workbench shows of a model; None: it has not told yet."""
    shown = own_seat().shown
    return None if shown is None else shown.request(model.reference)


def shown_trace(model: store.ModelSummary) -> Trace | None:
    """Return the run that the workbench shows; None: there is none yet, or no answer, which is then said."""
    request = shown_request(model)
    return None if request is None else answer(request)
