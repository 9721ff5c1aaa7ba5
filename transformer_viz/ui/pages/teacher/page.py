"""The teacher's page: all training runs and models of a class, with buttons that stop and delete them."""

import contextlib
import datetime
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from transformer_viz import store
from transformer_viz.service.trainer import QUOTA
from transformer_viz.store.quota import bytes_in
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.listing import list_runs
from transformer_viz.training.runs.state import ACTIVE
from transformer_viz.training.runs.uploads import sweep_uploads, uploads_bytes
from transformer_viz.ui.shell.card import size_text, task_of
from transformer_viz.ui.shell.classroom import short_name, visitors_folder
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.titles import titles_of

Thing = TypeVar("Thing", TrainingRun, store.ModelSummary)

ORDER = ("running", "queued", "interrupted", "stopped", "failed", "finished", "broken")
"""Order of training runs by status."""


def show() -> None:
    """Show the page."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(t("teacher.title"), anchor=False, width="content")
        st.button(t("teacher.refresh"), icon=":material/refresh:", type="tertiary")
    for refusal in st.session_state.pop("refusals", []):
        st.error(refusal, icon=":material/error:")
    show_trainings()
    show_models()


def show_trainings() -> None:
    """Show all training runs, with actions on the selected ones."""
    runs = sorted(list_runs(), key=lambda run: ORDER.index(run.status))
    at_work = [run for run in runs if run.status in ACTIVE]
    st.subheader(t("teacher.trainings", count=len(runs), at_work=len(at_work)), anchor=False)
    if not runs:
        st.info(t("teacher.trainings.none"), icon=":material/school:")
        return
    sizes = {run.id: bytes_in(run.path) for run in runs}
    used, uploads = {"used": size_text(sum(sizes.values())), "quota": size_text(QUOTA.total)}, "?"
    with contextlib.suppress(OSError):
        uploads = size_text(uploads_bytes())
    st.caption(t("teacher.used", **used, uploads=uploads))
    titles = titles_of([run.id for run in runs])
    rows = [row_of_run(run, titles[run.id], sizes[run.id]) for run in runs]
    chosen = choose("run", rows, [run.id for run in runs], runs)
    with st.container(horizontal=True, gap="small"):
        live = [run for run in chosen if run in at_work]
        act("stop", live, ":material/stop:", stop_runs)
        confirm("delete", chosen, ":material/delete:", delete_runs)
        confirm("stop_all", at_work, ":material/stop_circle:", stop_runs)


def row_of_run(run: TrainingRun, title: str, size: int) -> dict:
    """Return one row of the list of training runs."""
    state = run.state()
    total = state.facts.get("total_steps")
    began = (
        datetime.datetime.fromtimestamp(run.last_worked).isoformat(" ", "minutes") if run.last_worked else ""
    )
    return {
        "visitor": short_name(run.owner) or "—",
        "training": title,
        "status": t(f"run.{run.status}"),
        "progress": state.step / total if total else 0.0,
        "worked": began,
        "size": size_text(size),
    }


def show_models() -> None:
    """Show the models of all visitors, with a button that deletes the selected ones."""
    models = visitors_models()
    st.subheader(t("teacher.models", count=len(models)), anchor=False)
    if not models:
        st.info(t("teacher.models.none"), icon=":material/inventory_2:")
        return
    rows = [
        {
            "visitor": short_name(model.path.parent.parent.name),
            "model": model.name,
            "task": t("models.unusable") if model.problem else task_of(model.card),
            "size": size_text(model.size),
        }
        for model in models
    ]
    chosen = choose("model", rows, [model.reference for model in models], models)
    with st.container(horizontal=True, gap="small"):
        confirm("delete_models", chosen, ":material/delete:", delete_models)


def visitors_models() -> list[store.ModelSummary]:
    """Return the models of all visitors of the class, by visitor and name."""
    homes = []
    with contextlib.suppress(OSError):
        homes = sorted(visitors_folder().glob("[!.]*"))
    found = []
    for place in homes:
        with contextlib.suppress(store.ModelError):
            found += store.list_models(place / "models")
    return found


def choose(what: str, rows: list[dict[str, Any]], names: list[str], things: list[Thing]) -> list[Thing]:
    """Show a list with multiple selection; return the selected things."""
    selected = st.dataframe(
        rows,
        key=f"teacher-{what}-{hash(tuple(names))}",  # a changed list starts without a selection
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        column_config={
            **{name: t(f"teacher.{name}") for name in rows[0]},
            "progress": st.column_config.ProgressColumn(t("teacher.progress"), format="percent"),
        },
        alt=t(f"teacher.{what}.alt"),
    )
    return [things[row] for row in selected.selection.rows]


def act(what: str, things: Sequence[Thing], icon: str, do: Callable[[Sequence[Thing]], None]) -> None:
    """Show a button that calls `do` with the selected things; disabled if there are none."""
    st.button(
        t(f"teacher.{what}", count=len(things)),
        icon=icon,
        key=f"teacher-{what}",
        disabled=not things,
        on_click=do,
        args=(things,),
    )


def confirm(what: str, things: Sequence[Thing], icon: str, do: Callable[[Sequence[Thing]], None]) -> None:
    """Show a button as `act` does, but ask for confirmation first."""
    label = t(f"teacher.{what}", count=len(things))
    with st.popover(label, icon=icon, disabled=not things, key=f"teacher-{what}"):
        st.markdown(t(f"teacher.{what}.sure", count=len(things)))
        st.button(label, type="primary", key=f"teacher-{what}-sure", on_click=do, args=(things,))


def stop_runs(runs: Sequence[TrainingRun]) -> None:
    """Stop training runs; their progress is kept."""
    each_of(runs, lambda run: run.stop())


def delete_runs(runs: Sequence[TrainingRun]) -> None:
    """Delete training runs, and uploads that no run uses any more."""
    each_of(runs, lambda run: run.delete())
    sweep_uploads()


def delete_models(models: Sequence[store.ModelSummary]) -> None:
    """Delete models of visitors and empty their trash, which frees the space."""
    each_of(models, lambda model: store.delete_model(model.name, model.path.parent))
    for folder in {model.path.parent for model in models}:
        store.empty_trash(folder, older_than=0)


def each_of(things: Sequence[Thing], do: Callable[[Thing], object]) -> None:
    """Call `do` for each thing; collect errors and continue."""
    for thing in things:
        try:
            do(thing)
        except (RunError, store.ModelError) as error:
            st.session_state.setdefault("refusals", []).append(error_text(error))
