"""Uploading a model, and the names and sentences that belong to it."""

import itertools
import os
import re

import streamlit as st

from transformer_viz import store
from transformer_viz.store.format import NAME
from transformer_viz.ui.language import plain, t


def ask_upload(names, finish) -> None:
    """Show a button that takes a packed model, and asks for a name if its own will not do."""
    state = st.session_state
    count = state.get("uploads", 0)
    with st.popover(
        t("models.upload"),
        icon=":material/upload:",
        type="tertiary",
        key=f"upload-{count}",
    ):
        packed = st.file_uploader(t("models.upload_what"), type="zip", key=f"zip-{count}")
        if packed is None:
            return
        data = packed.getvalue()
        try:
            name = store.packed_name(data)
            if problem_of(name, names):
                st.markdown(t("models.upload_taken", name=plain(name)))
                name = st.text_input(
                    t("models.new_name"), free_name(name, names), max_chars=64, key="upload-to"
                )
                if not st.button(t("models.add"), type="primary"):
                    return
                if problem := problem_of(name, names):
                    st.error(problem)
                    return
            store.unpack_model(data, name=name)
        except store.ModelError as error:
            st.error(t("models.refused", reason=said(error)))
            return
    state.uploads = count + 1  # another popover and another, empty uploader
    finish(name, t("models.uploaded", name=plain(name)))


def problem_of(name, names) -> str | None:
    """Say in the visitor's language why a name will not do; None if it will."""
    if not NAME.fullmatch(name or ""):
        return t("name.rule")
    return t("name.taken", name=plain(name)) if name in names else None


def free_name(name, names) -> str:
    """Return a fit name like this one that nobody has."""
    fit = re.sub("[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:60] or "model"
    stem = re.sub(r"-\d+$", "", fit)
    numbered = itertools.chain([fit], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for name in numbered if name not in names and NAME.fullmatch(name))


def said(error) -> str:
    """Return what the store said, for the page: without the paths of this machine."""
    return plain(without_paths(str(error)))


def without_paths(text) -> str:
    """Return a sentence of the store in which places are named as in the list."""
    return text.replace(f"{store.models_folder()}{os.sep}", "")
