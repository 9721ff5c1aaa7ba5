"""A data file of the visitor: stored beside the runs, and previewed."""

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from transformer_viz.data import Preview, preview
from transformer_viz.runs import Upload, keep_upload
from transformer_viz.ui.shell.classroom import keep_visitor, owner

TYPES = ["csv", "tsv", "jsonl", "txt", "gz"]
"""Extensions that the upload takes."""

MAX_UNPACKED_BYTES = 150 * 2**20
"""Maximum unpacked size of an upload, in bytes: the server process reads it."""


def stored_upload(file: UploadedFile) -> Upload:
    """Return an upload as stored beside the runs; store it on the first call.

    Raises:
        RunError: If it cannot be stored.
    """
    file_id, upload = st.session_state.get("upload", ("", None))
    if file_id != file.file_id or not upload.path.exists():
        keep_visitor()
        upload = keep_upload(file.getvalue(), file.name, owner=owner())
        st.session_state.upload = (file.file_id, upload)
    return upload


@st.cache_data(max_entries=16, show_spinner=False)
def cached_preview(upload: Upload) -> Preview:
    """Return the preview of an upload.

    Raises:
        DataError: If no rows can be read.
    """
    return preview(upload.path, sha256=upload.sha256, most_bytes=MAX_UNPACKED_BYTES)
