"""What is changed in the run that the page shows, and the run that it is compared with.

Both are kept in the URL, the changes as JSON of `Changes.to_dict`, the other run as that of its request.
"""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.changes import acted, is_offered
from transformer_viz.ui.shell.address import keep
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.ui.shell.shelf import shown_model
from transformer_viz.values.request import TRACE, UNCHANGED, Changes, Request

CHANGES, BEFORE = "changes", "before"
"""Session and URL keys of the changes, and of the run that is compared with."""

CHANGED_MODEL, SHOWN = "changed-model", "shown-request"
"""Session keys of the model that is changed, and of the request that is shown."""

MAX_URL_CHARS = 3_000
"""Maximum length of either in the URL, in characters; what is longer is kept in the session alone."""


def changed_run(model: store.ModelSummary) -> tuple[Changes, Request | None]:
    """Return the changes to the model's computation, and the run that is compared with; None: none.

    Changes made to another model are dropped. Both are kept in the URL, as one entry of the history.
    """
    if st.session_state.setdefault(CHANGED_MODEL, model.name) != model.name and not is_history_navigation():
        st.session_state[CHANGES] = ""
    st.session_state[CHANGED_MODEL] = model.name
    address = st.query_params.to_dict()
    kept = dict(address)
    for key in (CHANGES, BEFORE):
        keep(key, address.get(key, ""))
        kept[key] = st.session_state[key] if len(st.session_state[key]) <= MAX_URL_CHARS else ""
        if not kept[key]:
            del kept[key]
    if kept != address:
        st.query_params.from_dict(kept)
    return _changes(st.session_state[CHANGES]), _compared_with()


def _compared_with():
    """Return the run that is compared with; None: none, or its model is not on the shelf."""
    text = st.session_state.get(BEFORE, "")
    if not text:
        return None
    try:
        request = Request.from_json(text)
    except ValueError:
        return None
    is_text = isinstance(request.text, str) and isinstance(request.target, str | None)
    is_plain = isinstance(request.model, str) and is_text and request.wants == TRACE
    return request if is_plain and is_offered(request.changes) and shown_model(request.model) else None


def remember(request: Request) -> None:
    """Remember what is shown, for `act`."""
    st.session_state[SHOWN] = request


def act(acted_on: Mapping[str, Any]) -> None:
    """Do what the visitor asks of the views: change the run, take a change back, begin or end a comparison.

    The first change begins a comparison with the run that was shown without it.

    Args:
        acted_on: An act, as `changes.acts_of` offers it.
    """
    shown: Request = st.session_state[SHOWN]
    before = _compared_with()
    model = shown_model(shown.model)
    if model is None:
        return
    match acted_on["do"]:
        case "compare":
            compare_with(shown)
        case "end":
            st.session_state[BEFORE] = ""
        case "undo_all":
            if before:
                open_run(before)
            else:
                _set_changes(UNCHANGED)
        case "text":
            if not before:
                compare_with(shown)
            st.session_state.sentence = acted_on["text"]
        case "undo" if acted_on["name"] == "text" and before:
            _restore_text(before)
        case "undo" if acted_on["name"] == "model" and before:
            _restore_model(before)
            _set_changes(before.changes)
            st.session_state[CHANGED_MODEL] = st.session_state.model
        case _:
            if not before and acted_on["do"] != "undo":
                compare_with(shown)
            _set_changes(acted(config_of(model), shown.changes, acted_on))


def compare_with(request: Request) -> None:
    """Make a run A of a comparison with what is shown."""
    st.session_state[BEFORE] = request.to_json()


def use_as_b(request: Request) -> None:
    """Show a run as B of a comparison, by default with the one that is shown."""
    if not _compared_with():
        compare_with(st.session_state[SHOWN])
    open_run(request)


def open_run(request: Request) -> None:
    """Show a run: B, if there is a comparison."""
    _restore_text(request)
    _restore_model(request)
    _set_changes(request.changes)
    st.session_state[CHANGED_MODEL] = st.session_state.model


def begin_unchanged(model: str) -> None:
    """Take back all changes and end the comparison, as a model is opened anew."""
    st.session_state.update({CHANGES: "", BEFORE: "", CHANGED_MODEL: model})


def begin_compared(before: Request, after: Changes) -> None:
    """Make a run A of a comparison with the same model under some changes."""
    compare_with(before)
    _set_changes(after)


def _changes(text):
    try:
        changes = Changes(**json.loads(text)) if text else UNCHANGED
    except (TypeError, ValueError, RecursionError):
        return UNCHANGED
    return changes if is_offered(changes) else UNCHANGED


def _set_changes(changes):
    given = changes.to_dict()
    st.session_state[CHANGES] = json.dumps(given, ensure_ascii=False, separators=(",", ":")) if given else ""


def _restore_text(before):
    st.session_state.sentence = before.text
    st.session_state.target = before.target or ""


def _restore_model(before):
    if model := shown_model(before.model):  # it was not deleted in the meantime
        st.session_state.model = model.name
