"""Access to Streamlit's internals of a session; tests/ui/test_session.py fails when they change."""

import streamlit as st
from streamlit.runtime.scriptrunner import ScriptRunContext, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType


def is_history_navigation() -> bool:
    """Return whether the visitor went back or forward in the browser's history."""
    return _context().is_history_navigation


def is_fragment_run() -> bool:
    """Return whether only a part of the page runs again, not the whole script."""
    return bool(_context().fragment_ids_this_run)


def give_way() -> None:
    """End this run if the visitor has asked for another one, which then begins.

    Streamlit does so by itself only for the whole script: a run of a fragment, as those of a page are, waits
    for the end of the current one.
    """
    requests = _context().script_requests
    if requests and requests._state == ScriptRequestType.RERUN:
        st.rerun(scope="fragment" if is_fragment_run() else "app")


def page_id() -> str:
    """Return the id of the current page."""
    return _context().page_script_hash


def visitor() -> str:
    """Return an anonymous id of the visitor's session."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id[:8] if context else "server"


def _context() -> ScriptRunContext:
    context = get_script_run_ctx()
    if context is None:
        raise RuntimeError("There is no session outside a script run of Streamlit.")
    return context
