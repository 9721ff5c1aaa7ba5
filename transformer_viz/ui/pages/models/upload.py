"""Uploading a model: another process checks it, while the page says how far that is."""

import itertools
import re
from collections.abc import Collection
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from transformer_viz import store
from transformer_viz.store.format import NAME
from transformer_viz.ui.shell.classroom import keep_visitor
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.shelf import home, name_problem

TRASH_MATTERS = "trash-matters"
"""Key in the session: whether a model was refused for which emptying the trash makes room."""


def remember_trash(error: store.ModelError) -> None:
    """Keep in mind whether what is in the trash has kept a model out."""
    st.session_state[TRASH_MATTERS] = isinstance(error, store.QuotaError) and error.trash > 0


def ask_upload(names: list[str]) -> str | None:
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
        checked = state.setdefault("checked", {})
        if checked.get("file") != packed.file_id:
            check(packed, checked)
        elif "unfit" in checked and (name := ask_fit_name(checked["unfit"], names)):
            check(packed, checked, name)
        if "refusal" in checked:
            st.error(t("models.refused", reason=checked["refusal"]))
    if added := checked.get("added"):
        state.uploads = count + 1  # another popover and another, empty uploader
        state.pop("checked")
    return added


def check(packed: UploadedFile, checked: dict[str, Any], name: str | None = None) -> None:
    """Let a model be checked and put on the shelf; keep in `checked` what came of it for the next rerun.

    An added model is kept there before anything talks to the page: Streamlit ends the script at that if the
    visitor has clicked elsewhere meanwhile, and the model would be checked once more.
    """
    place = st.empty()
    keep_visitor()
    with place.status(t("upload.checking")) as status:
        try:
            outcome = {
                "added": store.admit_model(
                    packed.getbuffer(),
                    name=name,
                    folder=home().folder,
                    quota=home().quota,
                    progress=lambda stage: status.update(label=t(f"upload.{stage}")),
                )
            }
        except store.UnfitNameError as error:
            outcome = {"unfit": error.name}
        except store.ModelError as error:
            remember_trash(error)
            outcome = {"refusal": error_text(error)}
        checked.clear()
        checked.update(file=packed.file_id, **outcome)
    place.empty()
    if "unfit" in checked:
        st.rerun()


def ask_fit_name(called: str, names: list[str]) -> str | None:
    """Ask for a name in the place of one that is taken or unfit; return it once it is given."""
    st.markdown(t("models.upload_taken", name=escaped(called)))
    name = st.text_input(t("models.new_name"), free_name(called, names), max_chars=64, key="upload-to")
    if not st.button(t("models.add"), type="primary"):
        return None
    if problem := name_problem(name, names):
        st.error(problem)
        return None
    return name


def free_name(name: str, names: Collection[str]) -> str:
    """Return a fit name like this one that nobody has."""
    fit = re.sub("[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:60] or "model"
    stem = re.sub(r"-\d+$", "", fit)
    numbered = itertools.chain([fit], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for name in numbered if name not in names and NAME.fullmatch(name))
