"""The choice of transformations of a trace's attention."""

import streamlit as st

from transformer_viz.pictures.looks import LOOKS, ONE_HEAD, is_possible
from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.language import t
from transformer_viz.values.trace import Trace


def choose_looks(trace: Trace) -> tuple[str, ...]:
    """Show the transformations possible for this trace, kept in the URL; return the active ones."""
    wanted = st.query_params.get("looks", "").split(".")
    keep("looks", [look for look in LOOKS if look in wanted])
    possible = [look for look in LOOKS if is_possible(trace, look)]
    on = [look for look in possible if look in st.session_state.looks]
    named = t("list.comma").join(t(f"looks.{look}") for look in on)
    with st.popover(
        f"{t('looks.label')} **{named}**" if on else t("looks.label"), icon=":material/filter_alt:"
    ):
        chosen = st.pills(
            t("looks.label"),
            possible,
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
