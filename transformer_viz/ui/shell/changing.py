"""The changes of the run that is shown, and the run that it is compared with, in the session."""

import json

import streamlit as st

from transformer_viz.trace.request import Changes, Request

CHANGES, BEFORE = "changes", "before"
"""Session keys: JSON of `Changes.to_dict`, and that of the request of the other run; "": none."""


def begin_unchanged() -> None:
    """Take back all changes and end the comparison, as a model is opened anew."""
    st.session_state.update({CHANGES: "", BEFORE: ""})


def begin_compared(before: Request, after: Changes) -> None:
    """Make a run A of a comparison with the same model under some changes."""
    given = after.to_dict()
    written = json.dumps(given, ensure_ascii=False, separators=(",", ":")) if given else ""
    st.session_state.update({CHANGES: written, BEFORE: before.to_json()})
