"""The Models page: the list of models, each model's card, and actions on it."""

from collections.abc import Callable

import streamlit as st

from transformer_viz import store
from transformer_viz.store.hugging_face import is_hugging_face
from transformer_viz.store.names import is_name
from transformer_viz.store.places import command
from transformer_viz.ui.pages.models.upload import (
    TRASH_MATTERS,
    ask_upload,
    remember_trash,
)
from transformer_viz.ui.shell.card import headline, show_card, size_text, task_of
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.classroom import is_classroom, keep_visitor
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import error_text, without_folders
from transformer_viz.ui.shell.shelf import free_name, home, is_own, name_problem, shown_models

NAME_WIDTH = 130
"""Minimum width of the column of names, in pixels."""

ICONS = {"rename": ":material/edit:", "duplicate": ":material/content_copy:"}

MOST_WHOLE = 20
"""Most models of a list that is shown whole; of a longer one, ten rows are in view."""

NEARLY_FULL = 0.8
"""Share of the quota above which the page shows the space used."""


def show(open_model: Callable[[str], None]) -> None:
    """Show the page; `open_model(name)` opens a model on the Attention page."""
    try:
        models = shown_models()
    except store.ModelError as error:
        st.error(error_text(error), icon=":material/folder_off:")
        return
    names = [model.name for model in models]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(t("models.title"), anchor=False, width="content")
        corner = st.container(width="content")
    show_notices()
    room = st.container()
    if errors := store.refused_files():
        st.info("\n\n".join(map(error_text, errors)), icon=":material/draft:")
    show_shelf(models, names, open_model)
    with corner:  # late: the rest of the page is visible while an upload is checked
        if added := ask_upload(names):
            finish(added, t("models.uploaded", name=escaped(added)))
    with room:  # last: also after an upload that was just rejected
        show_space()


def show_shelf(models: list[store.ModelSummary], names: list[str], open_model: Callable[[str], None]) -> None:
    """Show the list, and the card of the chosen model."""
    if not models:
        st.info(t("models.none"), icon=":material/inventory_2:")
        st.code(f"{command()} train --preset vaswani-tiny --data reverse --out my-reverse")
        return
    model = choose_row(models)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader(model.name, anchor=False, width="content")
        show_actions(model, names, open_model)
    if model.error:
        st.error(error_text(model.error), icon=":material/broken_image:")
        if model.error.lines:
            st.code(without_folders(model.error.lines, home().folder), language="python", wrap_lines=True)
    else:
        show_card(model)


def leave() -> None:
    """Clear the state of this page; deletions can no longer be undone."""
    for key in ("deleted", "listed", "refusal", "notice", TRASH_MATTERS):
        st.session_state.pop(key, None)


def choose_row(models: list[store.ModelSummary]) -> store.ModelSummary:
    """Show the list and return the chosen model, which stays chosen when the list changes."""
    names = [model.name for model in models]
    state, before = st.session_state, st.session_state.get("listed")
    if before != names:
        wanted = (state.get("shown"), st.query_params.get("show"), state.get("model"))
        row = next((names.index(name) for name in wanted if name in names), 0)
        if before and state.get("shown") in before and state.shown not in names:  # the one below moves up
            row = min(before.index(state.shown), len(names) - 1)
        state.listed, state.shelf = names, selected(row)
    chosen = st.dataframe(
        [row_of(model) for model in models],
        key="shelf",
        on_select=choose_row_of_cell,
        selection_mode=["single-row-required", "single-cell"],
        hide_index=True,
        placeholder="",
        column_config={
            "name": st.column_config.TextColumn(t("models.name"), width=NAME_WIDTH),
            "whose": st.column_config.TextColumn(t("models.whose"), width="small"),
            "task": t("models.task"),
            "test": t("models.test"),
            "parameters": st.column_config.NumberColumn(t("models.parameters"), format="localized"),
        },
        alt=t("models.alt"),
        height="content" if len(models) <= MOST_WHOLE else "auto",
    )
    rows = [row for row in chosen.selection.rows if row < len(models)]
    model = models[rows[0] if rows else 0]
    state.shown = model.name
    if st.query_params.get("show") != model.name:
        st.query_params["show"] = model.name
    return model


def choose_row_of_cell() -> None:
    """Select the row of a clicked cell."""
    if cells := st.session_state.shelf.selection.cells:
        st.session_state.shelf = selected(cells[0][0])


def selected(row: int) -> dict:
    """Return the state of a list with one selected row."""
    return {"selection": {"rows": [row], "columns": [], "cells": []}}


def row_of(model: store.ModelSummary) -> dict:
    """Return one row of the list: the columns that fit into a window 900 pixels wide."""
    usable = model.problem is None
    is_on_shelf = model.reference == model.name
    last = (
        {"whose": t("models.class" if is_on_shelf else "models.yours")}
        if is_classroom()
        else {"parameters": config_of(model).num_parameters if usable else None}
    )
    return {
        "name": model.name,
        "task": task_of(model.card) if usable else "⚠ " + t("models.unusable"),
        "test": headline(model) if usable else "",
        **last,
    }


def show_actions(model: store.ModelSummary, names: list[str], open_model: Callable[[str], None]) -> None:
    """Show the actions on a model; an unusable one can only be renamed or deleted.

    A folder of the hub is a person's own, which is copied as it is, and never deleted here.
    """
    is_foreign = not model.problem and is_hugging_face(model.path)
    with st.container(horizontal=True, gap="small", width="content"):
        if not model.problem and st.button(
            t("models.open"), type="primary", icon=":material/visibility:", key="leave-open"
        ):
            open_model(model.name)
        if not model.problem and not is_foreign:
            st.download_button(
                t("models.download"),
                lambda: store.pack_model(model.name, model.path.parent),
                file_name=f"{model.name}.zip",
                mime="application/zip",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key=f"download-{model.name}",
            )
        if not is_name(model.name):
            return
        if is_own(model):
            ask_name("rename", model, names, rename)
        if not model.problem and not is_foreign:
            ask_name("duplicate", model, names, duplicate)
        if is_own(model) and not is_foreign:
            st.button(
                t("models.delete"),
                icon=":material/delete:",
                type="tertiary",
                on_click=delete,
                args=(model,),
            )


def ask_name(
    what: str, model: store.ModelSummary, names: list[str], change: Callable[[store.ModelSummary, str], None]
) -> None:
    """Show a button that asks for a new name and then calls `change`."""
    name, key, icon = model.name, f"models.{what}", ICONS[what]
    with (
        st.popover(t(key), icon=icon, key=f"{key}-{name}", type="tertiary"),
        st.form(f"{key}-form-{name}", border=False),
    ):
        default = name if change is rename else free_name(name, names)
        new = st.text_input(t("models.new_name"), default, max_chars=64, key=f"{key}-to-{name}")
        if not st.form_submit_button(t(key)) or (change is rename and new == name):
            return
        if problem := name_problem(new, names):
            st.error(problem)
            return
        try:
            change(model, new)
        except store.ModelError as error:
            remember_trash(error)
            st.error(error_text(error))
            return
    finish(new, t(f"{key}d", name=escaped(new)))


def rename(model: store.ModelSummary, new: str) -> None:
    """Rename a model; it stays chosen."""
    store.rename_model(model.name, new, model.path.parent)
    if st.session_state.get("model") == model.name:
        st.session_state.model = new


def duplicate(model: store.ModelSummary, new: str) -> None:
    """Copy a model into the visitor's folder."""
    keep_visitor()
    store.duplicate_model(model.name, new, model.path.parent, into=home().folder, quota=home().quota)


def finish(name: str, notice: str) -> None:
    """Rerun the page with this model chosen and a notice."""
    st.session_state.shown, st.session_state.notice = name, notice
    st.session_state.pop("listed", None)
    st.rerun()


def delete(model: store.ModelSummary) -> None:
    """Move a model to the trash; this can be undone until the visitor leaves the page."""
    try:
        deleted = store.delete_model(model.name, model.path.parent)
        st.session_state.setdefault("deleted", []).append(deleted)
    except store.ModelError as error:
        st.session_state.refusal = error_text(error)


def undo(deleted: store.Deleted) -> None:
    """Restore a model and choose it."""
    try:
        store.restore_model(deleted)
    except store.ModelError as error:
        st.session_state.refusal = error_text(error)
        return
    st.session_state.deleted.remove(deleted)
    st.session_state.shown = deleted.name
    st.session_state.pop("listed", None)


def show_notices() -> None:
    """Show notices and errors of the last action, and buttons that undo deletions."""
    state = st.session_state
    if notice := state.pop("notice", None):
        st.toast(notice, icon=":material/check:")
    if refusal := state.pop("refusal", None):
        st.error(refusal, icon=":material/error:")
    for deleted in state.get("deleted", []):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.button(  # at the left: the toolbar of the table below lies over the right end
                t("models.undo"),
                icon=":material/undo:",
                on_click=undo,
                args=(deleted,),
                key=f"undo-{deleted.path.name}",
            )
            st.markdown(t("models.deleted", name=escaped(deleted.name)), width="stretch")


def show_space() -> None:
    """Show the space used if the quota is nearly exhausted, with a button that empties the trash."""
    try:
        usage = store.usage(*home())
    except store.ModelError as error:
        st.error(error_text(error))
        return
    if usage.quota is None:
        return
    is_nearly_full = usage.used >= NEARLY_FULL * usage.quota
    if not is_nearly_full and not (usage.trash and st.session_state.get(TRASH_MATTERS)):
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        sizes = {
            "used": size_text(usage.used),
            "quota": size_text(usage.quota),
            "trash": size_text(usage.trash),
        }
        st.markdown(t("models.room.trash" if usage.trash else "models.room", **sizes), width="stretch")
        if usage.trash:
            st.button(t("models.empty"), icon=":material/delete_sweep:", on_click=empty_trash)


def empty_trash() -> None:
    """Empty the trash; a rejected upload is checked again."""
    store.empty_trash(home().folder, older_than=0)
    st.session_state.pop("deleted", None)
    if "refusal" in st.session_state.get("checked", {}):
        st.session_state.pop("checked")
