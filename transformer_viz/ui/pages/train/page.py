"""The Train page: choose data and settings, see the estimated cost, start a run, follow it."""

from collections.abc import Callable

import psutil
import streamlit as st

from transformer_viz.lessons.lesson import KEY, Lesson
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import is_busy
from transformer_viz.training.runs.plan import Material, cost_of, num_pictures, num_steps
from transformer_viz.ui.pages.train.data import ask_material, choose_task
from transformer_viz.ui.pages.train.run import show_run
from transformer_viz.ui.pages.train.settings import ask_settings
from transformer_viz.ui.shell.address import from_address, to_address
from transformer_viz.ui.shell.classroom import is_classroom, is_known, keep_visitor, own_runs
from transformer_viz.ui.shell.language import t, time_of
from transformer_viz.ui.shell.lesson_strip import beside_lesson
from transformer_viz.ui.shell.problems import error_text, show_problem
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.shell.titles import titles_of


def show(open_model: Callable[[str], None]) -> None:
    """Show the page; `open_model(name)` opens a model on the Attention page."""
    with beside_lesson("train") as lesson:
        show_training(open_model, lesson)


def show_training(open_model: Callable[[str], None], lesson: Lesson | None) -> None:
    """Show a run, or the choices for a new one.

    Args:
        open_model: As for `show`.
        lesson: The lesson that is open; None: none.
    """
    problem = trainer_problem()
    runs = {run.id: run for run in own_runs()}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        title = st.empty()
        chosen = choose_run(runs)
    title.header(t("train.title.run" if chosen else "train.title"), anchor=False, width="content")
    for error in filter(None, (problem, st.session_state.pop("refused", None))):
        show_problem(error)
    if chosen:
        is_about_heads = lesson is not None and lesson.predict is not None and lesson.predict.ask == KEY
        show_run(runs[chosen], open_model, heads_first=is_about_heads)
    else:
        ask_job(lesson, can_start=not problem)


def trainer_problem() -> RunError | None:
    """Start the trainer process if it is not running; return the error if that fails."""
    try:
        shared_trainer().warm()
    except RunError as error:
        return error
    return None


def choose_run(runs: dict[str, TrainingRun]) -> str:
    """Show the choice among the runs, kept in the URL; return "" for a new run."""
    if st.session_state.get("run") not in (None, "", *runs):
        st.toast(t("run.gone"), icon=":material/search_off:")
    from_address("run", ["", *runs], "")
    titles = {"": t("train.new"), **titles_of(runs)}
    titles |= {name: f"{titles[name]} · {t('run.broken')}" for name, run in runs.items() if run.problem}
    chosen = st.selectbox(
        t("train.run"),
        ["", *runs],
        format_func=titles.__getitem__,
        key="run",
        persist_state="session",
        help=t("train.run.help"),
        width=340,
        label_visibility="collapsed",
    )
    to_address("run", chosen)
    return chosen


def ask_job(lesson: Lesson | None, can_start: bool = True) -> None:
    """Show the choices for a new run, which begins as a lesson has it, and its estimated cost."""
    task = choose_task()
    choices, summary = st.columns([5, 3], gap="large")
    problem = None
    with choices:
        material = ask_material(task)
        try:
            job = material and ask_settings(material, lesson)
        except ValueError as error:
            job, problem = None, error
    with summary, st.container(border=True):
        st.markdown(f"**{t('train.summary')}**")
        if problem:
            st.error(t("train.wrong", reason=error_text(problem)), icon=":material/error:")
        elif material is None or job is None:
            st.caption(t("data.wait"))
        else:
            show_cost(job, material)
            ask_start(job, can_start)


def ask_start(job: TrainingJob, can_start: bool) -> None:
    """Show the button that starts the training."""
    st.button(
        t("train.start"),
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        on_click=start,
        args=(job,),
        disabled=not can_start,
    )
    if is_busy():
        st.caption(t("train.queued_behind"))


def show_cost(job: TrainingJob, material: Material) -> None:
    """Show the estimated cost: parameters, steps, time and memory."""
    cost = cost_of(job, material)
    cost_texts = {
        "parameters": f"{cost.parameters:,}",
        "steps": f"{num_steps(job):,}",
        "time": time_of(max(1, cost.seconds(job.settings.epochs, num_pictures(job)))),
        "epoch": time_of(max(1, cost.slowdown * cost.seconds_per_epoch)),
        "memory": f"{cost.memory / 1e9:.1f} GB",
    }
    lines = "  \n".join(t(f"train.{name}", value=value) for name, value in cost_texts.items())
    st.markdown(lines, help=t("train.estimated"))
    problem = cost.problem(psutil.virtual_memory().available)
    if problem:
        st.warning(error_text(problem), icon=":material/memory:")


def start(job: TrainingJob) -> None:
    """Start a run and show it."""
    if not is_known():
        st.session_state.refused = RunError("runs.no_cookie")
        return
    keep_visitor()
    try:
        st.session_state.run = shared_trainer().start(job, one_at_a_time=is_classroom()).id
    except RunError as error:
        st.session_state.refused = error
