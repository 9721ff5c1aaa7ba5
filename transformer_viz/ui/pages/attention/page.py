"""The Attention page: a text, its prediction, and the attention heads."""

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.pictures.compared import placed_effects
from transformer_viz.pictures.effects import together_text
from transformer_viz.pictures.labels import as_shown
from transformer_viz.pictures.views import page
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects, ablations
from transformer_viz.ui.pages.attention.comparing import show_answers
from transformer_viz.ui.pages.attention.earlier import remember_run, show_runs
from transformer_viz.ui.pages.attention.filling import show_filling
from transformer_viz.ui.pages.attention.lens import (
    last_export,
    show_both_effects,
    show_compared,
    show_effects,
    show_lens,
)
from transformer_viz.ui.pages.attention.looks import choose_looks, kept_looks
from transformer_viz.ui.pages.attention.prediction import show_prediction, show_writing
from transformer_viz.ui.pages.attention.preferences import show_preferences
from transformer_viz.ui.pages.attention.survey import show_survey
from transformer_viz.ui.pages.attention.why import (
    AS_USUAL,
    ask_about,
    ask_why,
    show_both,
    show_measured,
    show_why,
)
from transformer_viz.ui.shell.address import choose_whether
from transformer_viz.ui.shell.answers import answer, effects_for_file, head_effects, whole_answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.explained import show_explained
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.lesson_strip import beside_lesson, lesson_view
from transformer_viz.ui.shell.reading import show_order, show_reading
from transformer_viz.ui.shell.run import ask_run
from transformer_viz.ui.shell.sentence import Asked
from transformer_viz.ui.shell.tables import csv_for_excel
from transformer_viz.values.comparison import Comparison, compare
from transformer_viz.values.lesson import Lesson
from transformer_viz.values.likeliest import is_whole
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace


def show(model: store.ModelSummary) -> None:
    """Show the page for one model."""
    with beside_lesson("attention") as lesson:
        show_text(model, lesson)


def show_text(model: store.ModelSummary, lesson: Lesson | None) -> None:
    """Show the text, the answer and the attention.

    Args:
        model: The model.
        lesson: The lesson that is open; None: none.
    """
    above = st.container(key="side-a")  # always: what follows keeps its place when a comparison begins
    run = ask_run(model)
    if run is None:
        return
    asked, request, trace, before = run
    remember_run(request)
    with asked.options:
        show_runs()
    former = answer(before) if before else None
    if before and former:
        comparison = compare(former, trace, orders=(before.changes.order, request.changes.order))
        place = above.empty()
        show_answers(comparison, place, asked.answer)
        if comparison.has_same_heads:
            show_comparison(model, asked, place, before, request, comparison, lesson)
            return
        st.info(t("compare.other_heads", a=escaped(former.model), b=escaped(trace.model)))
    else:
        show_answer(model, trace, asked)
    why = st.container(key="reasons")
    with asked.answer:  # of a lesson only if it is switched on: it asks one question at a time
        asks_why = ask_why(config_of(model), trace, why, usual=lesson is None)
        about = EffectsRequest(request, *(ask_about(config_of(model), trace) if asks_why else AS_USUAL))
    if request.changes.order:
        show_order(trace)
    show_reading(trace, model)
    with asked.options:
        looks, wants_effects = choose_changes(model, trace, changed=bool(request.changes.ablate))
    effects = head_effects(request) if wants_effects else None
    if effects is not None and effects.num_heads > 1:
        st.caption(escaped(together_text(words(), trace, effects)))
    opened = lesson_view(lesson, trace, request) if lesson else None
    shown = trace, request, config_of(model), looks, effects, before, opened
    payload = show_lens(*shown, asks_why=asks_why)

    def known() -> Effects | None:
        return effects_for_file(about) if asks_why else None

    downloads = show_downloads(
        trace.model,
        trace.text,
        lambda: payload(known()),
        lambda: table_of(trace, known()).to_csv(index=False),
        lambda: npz_of(trace if is_whole(trace) else whole_answer(request)),
    )
    show_survey(model, trace)
    show_preferences(model, trace)
    show_explained(
        "attention", r"\mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right)"
    )
    if asks_why and (found := show_why(why, trace, about)) is not None:
        show_effects(trace, found, model.card)
        with downloads:
            offer_file("effects", f"{trace.model}-effects.npz", "application/zip", lambda: npz_of(found))


def show_answer(model: store.ModelSummary, trace: Trace, asked: Asked) -> None:
    """Show what the model answers."""
    with asked.answer:
        if config_of(model).architecture == "encoder" and not config_of(model).fills_in:
            show_prediction(model, trace)
        elif config_of(model).has_decoder:
            show_writing(model, trace, own=asked.target is None)
    if config_of(model).fills_in:
        show_filling(model, trace, asked.answer)


def show_comparison(
    model: store.ModelSummary,
    asked: Asked,
    above: DeltaGenerator,
    before: Request,
    request: Request,
    comparison: Comparison,
    lesson: Lesson | None,
) -> None:
    """Show the attention of two runs and their difference.

    Args:
        model: The model of B.
        asked: Its texts.
        above: Where the text and the answer of A stand.
        before: The request of A.
        request: The request of B.
        comparison: Their answers.
        lesson: The lesson that is open; None: none.
    """
    why, config = st.container(key="reasons"), config_of(model)
    with asked.answer:
        asks_why = bool(comparison.a.labels) and ask_why(config, comparison.b, why, usual=lesson is None)
        about = ask_about(config, comparison.a) if asks_why else AS_USUAL
    if request.changes.order:
        show_order(comparison.b)
    show_reading(comparison.b, model)
    if before == request:
        st.caption(t("compare.nothing"))
    opened = lesson_view(lesson, comparison.b, request) if lesson else None
    payload = show_compared(comparison, request, before, config, opened, asks_why=asks_why)
    title = f"{comparison.a.text} | {comparison.b.text}"
    known: list[tuple[Effects, Effects] | None] = [None]
    show_downloads(
        model.name,
        title,
        lambda: payload(known[0]),
        lambda: compared_table(comparison, known[0]).to_csv(index=False),
    )
    if asks_why and (found := show_both((above, why), comparison, before, request, about)) is not None:
        known[0] = found
        show_both_effects(comparison, found)
    if before.model == request.model:
        with why:
            show_measured(before, request, config, comparison, about)


def choose_changes(model: store.ModelSummary, trace: Trace, *, changed: bool) -> tuple[tuple[str, ...], bool]:
    """Show the menu of what else can be worked out; return the looks, and whether heads are to be ablated.

    In a run in which heads are ablated already, or without an answer, the effects of single heads are not
    offered.
    """
    on = [t(f"looks.{look}") for look in kept_looks(trace)]
    runs = len(ablations(config_of(model)))
    named = t("list.comma").join(on)
    label = f"{t('looks.label')} **{named}**" if on else t("looks.label")
    with st.popover(label, icon=":material/filter_alt:"):
        looks = choose_looks(trace)
        if changed or not trace.labels:
            return looks, False
        ablated = choose_whether("effects", t("effects.label", count=runs), help=t("effects.help"))
    return looks, ablated


def show_downloads(
    model: str,
    text: str,
    to_payload: Callable[[], bytes],
    to_csv: Callable[[], str],
    to_npz: Callable[[], bytes] | None = None,
) -> DeltaGenerator:
    """Show the buttons that save all that is shown, which the menu of the views presses; return their place.

    That of the page has the number of the export in its key: the views find by it the one that knows what
    is selected.

    Args:
        model: Name of the model.
        text: What is shown, for the title of the page.
        to_payload: Returns the payload of the views.
        to_csv: Returns all weights as a table.
        to_npz: Returns the trace as a file; None: there is no single one.
    """
    number, start = last_export()
    title, language = t("list.colon").join([model, text]), words().language
    place = st.container(key="downloads")
    with place:
        for kind, mime, make in (
            ("csv", "text/csv", lambda: csv_for_excel(to_csv())),
            *([("npz", "application/zip", to_npz)] if to_npz else []),
            ("html", "text/html", lambda: page(to_payload(), title=title, language=language, start=start)),
        ):
            offer_file(kind, f"{model}-attention.{kind}", mime, make, number if kind == "html" else "")
    return place


def offer_file(kind: str, name: str, mime: str, make: Callable[[], Any], number: str = "") -> None:
    """Show a button that saves a file.

    Args:
        kind: What it is, in the key of its label.
        name: Of the file.
        mime: Its type.
        make: Returns its content, when it is pressed.
        number: Of the export, in the key of the button; "": there is one button only.
    """
    label = t(f"download.{kind}")
    st.download_button(
        label, make, file_name=name, mime=mime, on_click="ignore", key=f"download-{kind}{number}"
    )


def table_of(trace: Trace, effects: Effects | None) -> Any:
    """Return the weights of a trace as a table, with what each cell does to the answer if that is known."""
    table = as_shown(trace).to_frame()
    return table if effects is None else effects.beside(table)


def compared_table(comparison: Comparison, effects: tuple[Effects, Effects] | None) -> Any:
    """Return the weights of two runs as a table, with what each cell does to the answer if that is known."""
    shown = dataclasses.replace(comparison, a=as_shown(comparison.a), b=as_shown(comparison.b))
    table = shown.to_frame()
    if effects is None:
        return table
    sides = (
        np.concatenate([placed[kind].ravel() for kind in comparison.a.kinds()])
        for placed in placed_effects(comparison, effects)
    )
    return table.assign(**dict(zip(("effect_a", "effect_b"), sides, strict=True)))


def npz_of(found: Trace | Effects) -> bytes:
    """Return a trace or effects as a file for `Trace.load`, or for `Effects.load`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.npz"
        found.save(path)
        return path.read_bytes()
