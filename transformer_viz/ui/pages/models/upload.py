"""Upload of a model, which another process checks while the page shows its progress."""

from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from transformer_viz import store
from transformer_viz.service import admission
from transformer_viz.ui.shell.classroom import keep_visitor
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.ui.shell.shelf import free_name, home, name_problem

TRASH_MATTERS = "trash-matters"
"""Session key of whether emptying the trash may make room for a rejected model."""


def remember_trash(error: store.ModelError) -> None:
    """Record whether emptying the trash may make room for a rejected model."""
    st.session_state[TRASH_MATTERS] = isinstance(error, store.QuotaError) and error.trash > 0


def ask_upload(names: list[str]) -> str | None:
    """Show the upload of a packed model; ask for a name if its own is taken or invalid.

    Returns:
        Name of the model just added; None if there is none.
    """
    state = st.session_state
    count = state.get("uploads", 0)
    with st.popover(t("models.upload"), icon=":material/upload:", type="tertiary", key=f"upload-{count}"):
        packed = st.file_uploader(t("models.upload_what"), key=f"zip-{count}")  # any: others are told why
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
    """Check a model and add it; store the outcome in `checked` for the next rerun.

    It is stored before anything is drawn: Streamlit stops the script at a drawing call if the visitor has
    clicked elsewhere, and the model would be checked again.
    """
    place = st.empty()
    keep_visitor()
    with place.status(t("upload.checking")) as status:
        try:
            outcome = {
                "added": admission.admit_model(
                    packed.getbuffer(),
                    name=name,
                    folder=home().folder,
                    quota=home().quota,
                    progress=lambda stage: status.update(label=t(f"upload.{stage}")),
                )
            }
        except admission.UnfitNameError as error:
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
    """Ask for another name if the model's own is taken or invalid; return it once it is entered."""
    st.markdown(t("models.upload_taken", name=escaped(called)))
    name = st.text_input(t("models.new_name"), free_name(called, names), max_chars=64, key="upload-to")
    if not st.button(t("models.add"), type="primary"):
        return None
    if problem := name_problem(name, names):
        st.error(problem)
        return None
    return name
