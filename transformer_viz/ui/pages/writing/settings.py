"""The settings of the sampling, kept in the URL: temperature, top-k and top-p."""

import streamlit as st

from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.workbench.written import SETTINGS

KEY = "sampling"
"""Name in the URL and in the session."""

USUAL = "1-0-1"
"""Temperature 1, all tokens, all probabilities: the model's own distribution."""


def kept_settings() -> str:
    """Return the settings of the session or the URL, and write them to the URL unless they are the usual."""
    keep(KEY, st.query_params.get(KEY, USUAL))
    settings = st.session_state[KEY] if SETTINGS.fullmatch(st.session_state[KEY]) else USUAL
    to_address(KEY, "" if settings == USUAL else settings)
    return settings


def keep_settings(settings: str) -> None:
    """Keep the settings that were chosen in the browser."""
    st.session_state[KEY] = settings
