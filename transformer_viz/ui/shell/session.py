"""What only Streamlit's internals know of a session; tests/ui/test_session.py fails when they change."""

from streamlit.runtime.scriptrunner import get_script_run_ctx


def is_history_navigation() -> bool:
    """Return whether the visitor went back or forward in the browser's history."""
    return get_script_run_ctx().is_history_navigation


def page_id() -> str:
    """Return what tells the page that is shown from the others."""
    return get_script_run_ctx().page_script_hash


def visitor() -> str:
    """Return a word for the visitor's session that says nothing about them."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id[:8] if context else "server"
