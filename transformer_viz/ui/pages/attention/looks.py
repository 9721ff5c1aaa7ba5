"""The choice of transformations of a trace's attention."""

import streamlit as st

from transformer_viz.pictures.looks import LOOKS, ONE_HEAD, is_possible
from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.language import t
from transformer_viz.values.trace import Trace


def kept_looks(trace: Trace) -> list[str]:
    """Return the transformations that are active for this trace, kept in the URL."""
    wanted = st.query_params.get("looks", "").split(".")
    keep("looks", [look for look in LOOKS if look in wanted])
    return [look for look in possible_looks(trace) if look in st.session_state.looks]


def possible_looks(trace: Trace) -> list[str]:
    """Return the transformations possible for this trace."""
    return [look for look in LOOKS if is_possible(trace, look)]


def choose_looks(trace: Trace) -> tuple[str, ...]:
    """Show the transformations possible for this trace; return the active ones."""
    chosen = st.pills(
        t("looks.label"),
        possible_looks(trace),
        selection_mode="multi",
        format_func=lambda look: t(f"looks.{look}"),
        key="looks",
        persist_state="session",
        label_visibility="collapsed",
    )
    st.caption(t("looks.help"))
    to_address("looks", ".".join(chosen))
    on = [look for look in LOOKS if look in chosen]
    single = [look for look in on if look in ONE_HEAD]
    return tuple(look for look in on if look not in single[:-1])
