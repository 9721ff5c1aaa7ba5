"""One training run on the page: progress, attention heads, actions."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.data import BadRows
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.figures import learning_curves
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import runs_ahead
from transformer_viz.training.runs.state import ACTIVE, RunState
from transformer_viz.training.runs.uploads import sweep_uploads
from transformer_viz.ui.pages.train.forming import (
    choose_heads,
    first_pictures,
    shortened,
    show_heads,
)
from transformer_viz.ui.shell.averaging import show_averaging
from transformer_viz.ui.shell.card import count_in, gloss_of, metric_name, metric_text, metrics_of, part
from transformer_viz.ui.shell.charts import draw, theme
from transformer_viz.ui.shell.classroom import is_classroom, keep_visitor
from transformer_viz.ui.shell.heads import head_roles_of
from transformer_viz.ui.shell.language import escaped, t, time_of, words
from transformer_viz.ui.shell.problems import error_text, show_problem
from transformer_viz.ui.shell.server import shared_trainer
from transformer_viz.ui.shell.shelf import free_name, home, name_problem, shown_models
from transformer_viz.ui.shell.titles import title_of

REFRESH_SECONDS = 1
"""Seconds between two updates of an active run."""

FIRST_REFRESH_SECONDS = 0.25
"""Seconds between two updates before the first loss."""

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/play_arrow:",
    "finished": ":material/check_circle:",
    "stopped": ":material/stop_circle:",
    "failed": ":material/error:",
    "interrupted": ":material/power_off:",
    "broken": ":material/broken_image:",
}


def show_run(run: TrainingRun, open_model: Callable[[str], None], *, heads_first: bool = False) -> None:
    """Show a run; while it is active, update it regularly.

    Args:
        run: The run.
        open_model: Opens the page of a model, by its name.
        heads_first: Whether the attention of its heads stands above its learning curves.
    """
    stage = stage_of(run, run.state())
    show_actions(run, stage.status)
    if stage.status == "broken":
        st.error(t("run.broken.said", reason=error_text(run.error or "")), icon=ICONS["broken"])
        ask_name(run, open_model)
        return
    at_work = stage.status in ACTIVE
    seconds = REFRESH_SECONDS if stage.has_steps else FIRST_REFRESH_SECONDS
    # a fragment that ran while its place moved would draw where nothing is: the browser then stops the page
    heads = st.container() if heads_first else None
    progress, saving = st.container(), st.container()
    heads = heads or st.container()
    with progress:
        st.fragment(show_progress, run_every=seconds if at_work else None)(run, stage)
    if not at_work:
        with saving:
            ask_name(run, open_model)
    if stage.has_pictures:
        every = REFRESH_SECONDS if at_work else None
        with heads:
            choice = choose_heads(run)
            st.fragment(show_heads, run_every=every)(run, stage.status, *choice)


class Stage(NamedTuple):
    """The state that determines the parts of the page; if it changes, the whole page reruns."""

    status: str
    has_steps: bool
    has_pictures: bool


def stage_of(run: TrainingRun, state: RunState) -> Stage:
    """Return the stage of a run from its state."""
    return Stage(state.status, bool(state.steps), bool(first_pictures(run)))


def show_actions(run: TrainingRun, status: str) -> None:
    """Show title and status of the run, and the actions on it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        title = escaped(title_of(run.id))
        st.markdown(f"{ICONS[status]} **{title}** · {t(f'run.{status}')}", width="content")
        show_buttons(run, status)


def show_buttons(run: TrainingRun, status: str) -> None:
    """Show the buttons that stop, resume or delete the run."""
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


def show_progress(run: TrainingRun, stage: Stage) -> None:
    """Show progress, learning curves and sample predictions of the run."""
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
        st.progress(min(1.0, state.step / total), text=" · ".join(progress_texts(run, state, total)))
    elif state.status in ACTIVE:
        st.progress(0, text=queue_text(run) if state.status == "queued" else t("run.starting"))
    else:
        return
    show_notes(state)
    metric = run.job.drawn_metric
    curves, samples = st.columns([3, 2], gap="medium")
    with curves:
        labels = {"metric": metric_name(metric), "step": t("run.steps")}
        labels |= {name: t(f"run.{name}") for name in ("loss", "train", "validation")}
        draw(
            learning_curves(
                state.steps,
                state.epochs,
                over="step",
                metric=metric,
                labels=labels,
                last=total,
                theme=theme(),
            ),
            "curves",
        )
    with samples:
        if before := validation_metrics(state.untrained, run.job.config):
            st.markdown(t("run.untrained", figures=figures_text(before)))
        if state.best:
            show_best(state.best, run.job.config)
        if state.status == "finished" and state.still_improves:
            st.caption(t("run.improves"))
        if state.samples:
            st.caption(t("run.samples"), help=t("run.samples.help"))
            st.markdown("\n\n".join(map(sample_text, state.samples)))


def show_notes(state: RunState) -> None:
    """Show what was left out of the data and of the log, and what slows the run down."""
    if note := state.facts.get("note"):
        st.caption(escaped(words().translate(note, under="error.precision.")))
    for facts in state.facts.get("left_out", []):
        for sentence in BadRows.from_json(facts).said():
            st.caption(error_text(sentence))
    if not state.is_whole:
        st.caption(t("run.thinned"))
    if state.is_full:
        st.caption(t("run.pictures.full"))


def show_best(epoch: dict[str, Any], config: TransformerConfig) -> None:
    """Show the validation metrics of the best epoch so far, except its loss."""
    if found := validation_metrics(epoch, config):
        best = t("run.best", figures=figures_text(found), epoch=epoch["epoch"])
        st.markdown(best, help=glosses_text(found))


def validation_metrics(event: dict[str, Any], config: TransformerConfig) -> dict[str, float]:
    """Return the validation metrics of an event of the log, except the loss; empty where it has none."""
    measured = {name.removeprefix("val_"): value for name, value in event.items() if name.startswith("val_")}
    measured.pop("loss", None)
    return metrics_of(measured, config)


def figures_text(metrics: dict[str, float]) -> str:
    """Return metrics with their names, as part of a sentence."""
    named = (f"{escaped(metric_name(name))} {metric_text(name, value)}" for name, value in metrics.items())
    return t("list.comma").join(named)


def glosses_text(metrics: dict[str, float]) -> str:
    """Return what each of some metrics is, a line each."""
    colon, glosses = t("list.colon"), {metric_name(name): gloss_of(name) for name in metrics}
    return "\n\n".join(f"**{name}**{colon}{gloss}" for name, gloss in glosses.items() if gloss)


def queue_text(run: TrainingRun) -> str:
    """Return how many runs come before a queued one, as a sentence."""
    before = runs_ahead(run)
    return t("run.turns", count=before) if before else t("run.waiting")


def sample_text(sample: dict[str, str]) -> str:
    """Return a sample's text and the model's output, marked as right or as wrong with the right one."""
    text, output = escaped(shortened(sample["text"])), escaped(shortened(sample["written"])) or "∅"
    if not sample["expected"]:
        return f"{text} → {output}"
    if sample["written"] == sample["expected"]:
        return f"{text} → :green[{output} ✓]"
    expected = t("run.expected", answer=escaped(shortened(sample["expected"])))
    return f"{text} → :red[{output} ✗]  \n{expected}"


def progress_texts(run: TrainingRun, state: RunState, total: int) -> Iterator[str]:
    """Yield the parts of a run's progress text."""
    yield t("run.step", step=f"{state.step:,}", total=f"{total:,}")
    if state.status == "queued":
        yield queue_text(run)
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
    yield t("run.device", device=device_text(state.device))


def device_text(device: str) -> str:
    """Return the name of a device, as `training.job` writes it, in the visitor's language."""
    cores = re.fullmatch(r"CPU \((\d+) cores\)", device)
    return t("run.cpu", count=cores[1]) if cores else escaped(shortened(device))


def ask_name(run: TrainingRun, open_model: Callable[[str], None]) -> None:
    """Show the test metrics of the best model, if there is one, and a form that saves it under a name."""
    if not run.model.exists():
        return
    try:
        config, card = best_of(run.model, store.stamp(run.model))
    except store.ModelError as error:
        show_problem(error)
        return
    test = part(card, "test")
    if rows := count_in(test, "rows"):
        found = metrics_of(test, config)
        st.markdown(t("run.test", count=rows, figures=figures_text(found)), help=glosses_text(found))
    show_averaging(head_roles_of(run.model), config)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        epoch = choose_epoch(run, card.get("best_epoch"))
        suggested = t("run.name.own", data=title_of(run.id).split(" · ")[0])
        suggested = name_to_propose(run.id, suggested + ("" if epoch is None else f"-{epoch}"))
        name = st.text_input(
            t("run.name"), suggested, key=f"name-{run.id}-{epoch}", help=t("run.name.help"), width=280
        )
        if st.button(t("run.save"), icon=":material/save:", type="primary", key="save"):
            save(run, name, epoch)
        saved_run, saved = st.session_state.get("saved", (None, None))
        if saved_run == run.id:
            st.markdown(t("run.saved", name=escaped(saved)), width="content")
            if st.button(t("run.open"), icon=":material/visibility:", key="leave-open"):
                open_model(saved)


def name_to_propose(run: str, name: str) -> str:
    """Return a free name similar to this one; the same as long as the page is open, also once it is taken."""
    try:
        taken = [model.name for model in shown_models()]
    except store.ModelError:  # said when the model is saved
        taken = []
    return st.session_state.setdefault(f"proposed-{run}-{name}", free_name(name, taken))


def choose_epoch(run: TrainingRun, best: Any) -> int | None:
    """Show the choice of the epoch whose model is saved; return its number, None for the best one."""
    if not (kept := run.kept_epochs()):
        return None
    names = {None: t("run.epoch.best", epoch=best)}
    names |= {epoch: t("run.epoch.some" if epoch else "run.epoch.none", epoch=epoch) for epoch in kept}
    return st.selectbox(
        t("run.epoch"),
        names,
        format_func=lambda epoch: names[epoch],
        key=f"epoch-{run.id}",
        help=t("run.epoch.help"),
        width=220,
    )


def save(run: TrainingRun, name: str, epoch: int | None) -> None:
    """Save the model of an epoch in the visitor's folder, None: the best one, or show why that fails."""
    try:
        if problem := name_problem(name, [model.name for model in shown_models()]):
            st.error(problem, icon=":material/error:")
            return
        keep_visitor()
        run.save(name, folder=home().folder, quota=home().quota, epoch=epoch)
        st.session_state.saved = (run.id, name)
    except store.ModelError as error:
        show_problem(error)


@st.cache_data(max_entries=16, show_spinner=False)
def best_of(path: Path, stamp: str) -> tuple[TransformerConfig, dict[str, Any]]:
    """Return config and card of the best model of a run; a rewritten model has another stamp."""
    best = store.read_model(path)
    return best.config, best.card


def resume(run: TrainingRun) -> None:
    """Queue the run again, from its checkpoint."""
    try:
        shared_trainer().resume(run, one_at_a_time=is_classroom())
    except RunError as error:
        st.session_state.refused = error


def begin_anew(run: TrainingRun) -> None:
    """Queue the run again, from its beginning."""
    try:
        shared_trainer().resume(run, restart=True, one_at_a_time=is_classroom())
    except RunError as error:
        st.session_state.refused = error


def stop(run: TrainingRun) -> None:
    """Ask the run to stop."""
    try:
        run.stop()
    except RunError as error:
        st.session_state.refused = error


def delete(run: TrainingRun) -> None:
    """Delete the run, and show the form for a new one."""
    try:
        run.delete()
        sweep_uploads()
        st.session_state.run = ""
    except RunError as error:
        st.session_state.refused = error
