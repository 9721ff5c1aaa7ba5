"""The page for unexpected errors: an apology, a report, and ways to continue."""

import datetime
import json
import logging
import platform
import secrets
from importlib import metadata

import streamlit as st

from transformer_viz.ui.shell.journal import frames_of, note
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.session import visitor
from transformer_viz.version import __version__

LIBRARIES = ("streamlit", "numpy", "pandas", "plotly", "keras", "tensorflow", "tokenizers")


def show_unexpected(error: Exception) -> bool:
    """Show the page in place of a traceback; `on_script_error` of `st.App`."""
    number = note_unexpected(error)
    st.error(t("unexpected.sorry", number=number), icon=":material/sentiment_dissatisfied:")
    with st.container(horizontal=True, gap="small"):
        st.button(t("unexpected.again"), icon=":material/replay:", type="primary", key="unexpected-again")
        st.button(
            t("unexpected.fresh"), icon=":material/home:", on_click=reset_session, key="unexpected-fresh"
        )
        show_report(error, number)
    st.caption(t("unexpected.private"))
    return True


def note_unexpected(error: Exception, by: str | None = None) -> str:
    """Log an error; return the number of its report.

    Args:
        error: The error.
        by: As for `note`.
    """
    number, facts = secrets.token_hex(4), {"kind": type(error).__name__, "at": frames_of(error)[-1]}
    note("error", level=logging.ERROR, by=by, report=number, **facts)
    return number


def show_report(error: Exception, number: str) -> None:
    """Show the button that saves the report of an error."""
    st.download_button(
        t("unexpected.report"),
        report_of(error, number),
        file_name=f"transformer-viz-{number}.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        key="unexpected-report",
    )


def report_of(error: Exception, number: str) -> str:
    """Return a report for developers as JSON, without the visitor's texts and the error's message."""
    report = {
        "report": number,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "visitor": visitor(),
        "error": type(error).__name__,
        "frames": frames_of(error),
        "page": st.context.url.partition("?")[0].rpartition("/")[2] if st.context.url else "",
        "model": str(st.session_state.get("model", "")),
        "language": st.session_state.get("lang", ""),
        "transformer-viz": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: metadata.version(name) for name in LIBRARIES},
    }
    return json.dumps(report, indent=2) + "\n"


def reset_session() -> None:
    """Reset the session and the URL, which may have caused the error."""
    st.session_state.clear()
    st.query_params.clear()
