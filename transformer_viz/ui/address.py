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


def number_from_address(key, least, most, default) -> None:
    """Choose the whole number the address says, or `default`; what is chosen already stays within bounds."""
    wanted = st.session_state.get(key, st.query_params.get(key, ""))
    number = int(wanted) if str(wanted).isdecimal() and len(str(wanted)) < 10 else default
    st.session_state[key] = min(max(number, least), most)
