"""Uploading a model: another process checks it, while the page says how far that is."""

import itertools
import re

import streamlit as st

from transformer_viz import store
from transformer_viz.store.format import NAME
from transformer_viz.ui.classroom import keep_visitor
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.problems import said
from transformer_viz.ui.shelf import home


def ask_upload(names) -> str | None:
    """Show a button that takes a packed model, and asks for a name if its own will not do.

    Returns:
        The name of a model that was added just now.
    """
    state = st.session_state
    count = state.get("uploads", 0)
    with st.popover(t("models.upload"), icon=":material/upload:", type="tertiary", key=f"upload-{count}"):
        packed = st.file_uploader(t("models.upload_what"), type="zip", key=f"zip-{count}")
        if packed is None:
            return None
        if state.get("checked", {}).get("file") != packed.file_id:
            added = check(packed)
        elif "unfit" in state.checked:
            name = ask_fit_name(state.checked["unfit"], names)
            added = name and check(packed, name)
        else:
            added = None
        if refusal := state.get("checked", {}).get("refusal"):
            st.error(t("models.refused", reason=refusal))
    if added:
        state.uploads = count + 1  # another popover and another, empty uploader
        state.pop("checked", None)
    return added


def check(packed, name=None) -> str | None:
    """Let a model be checked and put on the shelf; keep in mind what was said, for each rerun asks again."""
    state, place = st.session_state, st.empty()
    keep_visitor()
    with place.status(t("upload.checking")) as status:
        try:
            return store.admit_model(
                packed.getbuffer(),
                name=name,
                folder=home().folder,
                quota=home().quota,
                progress=lambda stage: status.update(label=t(f"upload.{stage}")),
            )
        except store.UnfitNameError as error:
            state.checked = {"file": packed.file_id, "unfit": error.name}
        except store.ModelError as error:
            state.checked = {"file": packed.file_id, "refusal": said(error)}
    place.empty()
    if "unfit" in state.checked:
        st.rerun()
    return None


def ask_fit_name(called, names) -> str | None:
    """Ask for a name in the place of one that is taken or unfit; return it once it is given."""
    st.markdown(t("models.upload_taken", name=plain(called)))
    name = st.text_input(t("models.new_name"), free_name(called, names), max_chars=64, key="upload-to")
    if not st.button(t("models.add"), type="primary"):
        return None
    if problem := problem_of(name, names):
        st.error(problem)
        return None
    return name


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
