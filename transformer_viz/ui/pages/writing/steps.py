"""What is written so far and which step of it is shown: kept in the URL, with the steps before for "Undo"."""

from typing import Any

import streamlit as st

from transformer_viz.network.config import TransformerConfig
from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.ui.workbench.written import Steps

KEY = "written"
"""Name in the URL and in the session."""

WRITTEN_FOR, BEFORE = "written-for", "written-before"
"""Session keys: the model and the text that are continued, and what was written before, the latest last."""

MAX_BEFORE = 200
"""Most steps that can be undone."""


def kept_steps(continued: tuple[str, str], config: TransformerConfig, most: int) -> Steps:
    """Return the steps of the session or the URL; those of another model or text are dropped.

    Args:
        continued: Model and text.
        config: Of the model.
        most: Most tokens that can be written.
    """
    if st.session_state.setdefault(WRITTEN_FOR, continued) != continued and not is_history_navigation():
        st.session_state[KEY] = ""
        st.session_state[BEFORE] = []
    st.session_state[WRITTEN_FOR] = continued
    keep(KEY, st.query_params.get(KEY, ""))
    steps = Steps.read(st.session_state[KEY], config, most)
    st.session_state[KEY] = steps.text()  # as it is told to the view, also if a link has it in another form
    to_address(KEY, steps.text())
    return steps


def can_undo() -> bool:
    """Return whether there is a step to take back."""
    return bool(st.session_state.get(BEFORE))


def act(acted: dict[str, Any], config: TransformerConfig, most: int) -> None:
    """Do what the visitor asks of the view, unless something else is written by now.

    Args:
        acted: "do": "write" (a "token" "at" a step), "take" (several
            "ids"), "step" (go to one), "undo" or "restart"; "of": what was
            written when it was asked.
        config: Of the model.
        most: Most tokens that can be written.
    """
    if acted["of"] != st.session_state[KEY]:
        return
    steps = Steps.read(st.session_state[KEY], config, most)
    before = st.session_state.setdefault(BEFORE, [])
    match acted["do"]:
        case "undo":
            if before:
                st.session_state[KEY] = before.pop()
            return
        case "write":
            wanted = steps.with_token(int(acted["token"]))
        case "take":
            ids = (*steps.ids[: steps.step], *map(int, acted["ids"]))
            wanted = steps._replace(ids=ids, step=len(ids))
        case "step":
            wanted = steps._replace(step=int(acted["step"]))
        case _:
            wanted = Steps()
    wanted = Steps.read(wanted.text(), config, most)
    if acted["do"] != "step":
        st.session_state[BEFORE] = [*before, st.session_state[KEY]][-MAX_BEFORE:]
    st.session_state[KEY] = wanted.text()
