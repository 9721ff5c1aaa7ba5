"""One training run on the page: how far it is, how its heads form, what can be done with it."""

from typing import NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.figures import learning_curves
from transformer_viz.runs import ACTIVE, RunError, runs_ahead, sweep_uploads
from transformer_viz.ui.pages.train.forming import (
    choose_heads,
    first_pictures,
    shortened,
    show_heads,
)
from transformer_viz.ui.shell.card import count_in, figure_name, figures_of, part, written
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.classroom import is_classroom, keep_visitor
from transformer_viz.ui.shell.language import plain, t, time_of, words
from transformer_viz.ui.shell.problems import said, show_problem
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.shell.shelf import home, problem_of, shown_models
from transformer_viz.ui.shell.titles import title_of

EVERY = 1
"""Seconds between two looks at a run that is at work."""

SOON = 0.25
"""The same before its first loss: somebody has pressed a button and waits."""

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/play_arrow:",
    "finished": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/power_off:",
    "broken": ":material/broken_image:",
}


def show_run(run, open_model) -> None:
    """Show a run; as long as somebody works on it, it is looked at again and again."""
    stage = stage_of(run, run.state())
    show_actions(run, stage.status)
    if stage.status == "broken":
        st.error(t("run.broken.said", reason=said(run.error)), icon=ICONS["broken"])
        ask_name(run, open_model)
        return
    at_work = stage.status in ACTIVE
    st.fragment(show_progress, run_every=(EVERY if stage.learns else SOON) if at_work else None)(run, stage)
    if not at_work:
        ask_name(run, open_model)
    if stage.has_pictures:
        choice = choose_heads(run)
        st.fragment(show_heads, run_every=EVERY if at_work else None)(run, stage.status, *choice)


class Stage(NamedTuple):
    """What decides which parts the page has; if it changes, the whole page is drawn anew."""

    status: str
    learns: bool
    has_pictures: bool


def stage_of(run, state) -> Stage:
    """Return the stage of a run from its state."""
    return Stage(state.status, bool(state.steps), bool(first_pictures(run)))


def show_actions(run, status) -> None:
    """Show what can be done with the run as it stands."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{ICONS[status]} **{plain(title_of(run.id))}** · {t(f'run.{status}')}", width="content")
        show_buttons(run, status)


def show_buttons(run, status) -> None:
    """Show the buttons that stop the run, or go on with it, or delete it."""
    if status in ACTIVE:
        st.button(
            t("run.cancel"),
            icon=":material/stop:",
            on_click=stop,
            args=(run,),
            help=t("run.cancel.help"),
            key="stop",
        )
        return
    if status not in ("finished", "broken"):
        begin = "anew" if run.has_damaged_checkpoint else "resume"
        st.button(
            t(f"run.{begin}"),
            icon=":material/play_arrow:",
            type="primary",
            on_click=begin_anew if begin == "anew" else resume,
            args=(run,),
            help=t(f"run.{begin}.help"),
            key=begin,
        )
    with st.popover(t("run.delete"), icon=":material/delete:", help=t("run.delete.help")):
        st.button(t("run.delete.sure"), type="primary", on_click=delete, args=(run,), key="delete")


def show_progress(run, stage) -> None:
    """Show how far the run is, its curves and its answers."""
    state = run.state()
    if stage_of(run, state) != stage:
        st.rerun(scope="app")
    if state.problem:
        show_problem(state.problem)
    if state.status not in (*ACTIVE, "finished") and run.has_damaged_checkpoint:
        st.warning(t("run.checkpoint.damaged"), icon=ICONS["broken"])
    elif state.status == "interrupted":
        st.warning(t("run.interrupted.said"), icon=":material/power_off:")
    total = state.facts.get("total_steps")
    if total and state.steps:
        st.progress(min(1.0, state.step / total), text=" · ".join(said_of(run, state, total)))
    elif state.status in ACTIVE:
        st.progress(0, text=said_before(run) if state.status == "queued" else t("run.starting"))
    else:
        return
    if note := state.facts.get("note"):
        st.caption(plain(words().same(note, under="error.precision.")))
    if not state.is_whole:
        st.caption(t("run.thinned"))
    if state.is_full:
        st.caption(t("run.pictures.full"))
    figure = run.job.metric
    curves, samples = st.columns([3, 2], gap="medium")
    with curves:
        labels = {"figure": figure_name(figure), "step": t("run.steps")}
        labels |= {name: t(f"run.{name}") for name in ("loss", "train", "validation")}
        draw(
            learning_curves(
                state.steps,
                state.epochs,
                over="step",
                figure=figure,
                labels=labels,
                last=total,
                theme=theme(),
            ),
            "curves",
        )
    with samples:
        if state.best and (best := state.best.get(f"val_{figure}")) is not None:
            value = written(figure, best)
            best = t("run.best", figure=figure_name(figure), value=value, epoch=state.best["epoch"])
            st.markdown(best)
        if state.samples:
            st.caption(t("run.samples"), help=t("run.samples.help"))
            st.markdown("\n\n".join(map(said_of_sample, state.samples)))


def said_before(run) -> str:
    """Say how many trainings come before one that waits."""
    before = runs_ahead(run)
    return t("run.turns", count=before) if before else t("run.waiting")


def said_of_sample(sample) -> str:
    """Return a text and what is written after it, green if it is what it should be, red if not."""
    said = plain(shortened(sample["written"])) or "∅"
    if sample["expected"]:
        colour = "green" if sample["written"] == sample["expected"] else "red"
        said = f":{colour}[{said}]"
    return f"{plain(shortened(sample['text']))} → {said}"


def said_of(run, state, total):
    """Yield what there is to say of a run's progress."""
    yield t("run.step", step=f"{state.step:,}", total=f"{total:,}")
    if state.status == "queued":
        yield said_before(run)
        return
    if (loss := state.steps[-1].get("loss")) is not None:
        yield t("run.loss_now", loss=f"{loss:.3g}")
    if state.status == "running":
        if state.step >= total:
            yield t("run.measuring")
            return
        if state.seconds_left is not None:
            yield t("run.left", time=time_of(state.seconds_left))
    if speed := state.steps[-1].get("tokens_per_second"):
        yield t("run.speed", tokens=f"{speed:,.0f}")
    yield t("run.device", device=plain(shortened(state.device)))


def ask_name(run, open_model) -> None:
    """Show the figures of the best model, if there is one, and the box that saves it under a name."""
    if not run.model.exists():
        return
    try:
        config, card = best_of(run.model, store.stamp(run.model))
    except store.ModelError as error:
        show_problem(error)
        return
    test = part(card, "test")
    if rows := count_in(test, "rows"):
        measured = figures_of(test, config).items()
        named = (f"{plain(figure_name(name))} {written(name, value)}" for name, value in measured)
        st.markdown(t("run.test", count=rows, figures=t("list.comma").join(named)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        slug = title_of(run.id).split(" · ")[0]
        name = st.text_input(
            t("run.name"), f"my-{slug}", key=f"name-{run.id}", help=t("run.name.help"), width=280
        )
        if st.button(t("run.save"), icon=":material/save:", type="primary", key="save"):
            save(run, name)
        saved_run, saved = st.session_state.get("saved", (None, None))
        if saved_run == run.id:
            st.markdown(t("run.saved", name=plain(saved)), width="content")
            if st.button(t("run.open"), icon=":material/visibility:", key="open"):
                open_model(saved)


def save(run, name) -> None:
    """Write the best model of a run where the visitor's own stand, or say why that is not possible."""
    try:
        if problem := problem_of(name, [model.name for model in shown_models()]):
            st.error(problem, icon=":material/error:")
            return
        keep_visitor()
        run.save(name, folder=home().folder, quota=home().quota)
        st.session_state.saved = (run.id, name)
    except store.ModelError as error:
        show_problem(error)


@st.cache_data(max_entries=16, show_spinner=False)
def best_of(path, stamp):
    """Return config and card of the best model of a run."""
    best = store.read_model(path)
    return best.config, best.card


def resume(run) -> None:
    """Put the run into the queue again."""
    try:
        shared_trainer().resume(run, one_at_a_time=is_classroom())
    except RunError as error:
        st.session_state.refused = error


def begin_anew(run) -> None:
    """Put the run into the queue again, to be worked on from its beginning."""
    try:
        shared_trainer().resume(run, restart=True, one_at_a_time=is_classroom())
    except RunError as error:
        st.session_state.refused = error


def stop(run) -> None:
    """Ask the run to stop."""
    try:
        run.stop()
    except RunError as error:
        st.session_state.refused = error


def delete(run) -> None:
    """Remove the run, and show the form for a new one."""
    try:
        run.delete()
        sweep_uploads()
        st.session_state.run = ""
    except RunError as error:
        st.session_state.refused = error
