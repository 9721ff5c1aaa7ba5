"""What is chosen on a page, kept in its address under names that no language changes."""

import streamlit as st


def from_address(key, options) -> None:
    """Choose what the address says, if it is one of the options and nothing is chosen yet."""
    wanted = st.query_params.get(key)
    if key not in st.session_state and wanted in options:
        st.session_state[key] = wanted


def to_address(key, value) -> None:
    """Write a choice to the address; "" takes it out."""
    if value:
        if st.query_params.get(key) != value:
            st.query_params[key] = value
    else:
        st.query_params.pop(key, None)
