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


def choose_one(key, options, label, *, say, default=None, **settings) -> str:
    """Show a choice among a few, kept in the URL unless it is the default.

    Args:
        key: Its name in the address and in the session.
        options: What there is to choose from.
        label: What stands above it.
        say: Names an option in the visitor's language.
        default: What an address without one means; None: the first.
        **settings: As `st.segmented_control` takes them.
    """
    default = default or options[0]
    from_address(key, options)
    if st.session_state.get(key) not in options:
        st.session_state[key] = default
    chosen = st.segmented_control(
        label, options, format_func=say, key=key, required=True, persist_state="session", **settings
    )
    to_address(key, "" if chosen == default else chosen)
    return chosen


def number_from_address(key, least, most, default) -> None:
    """Choose the whole number the address says, or `default`; what is chosen already stays within bounds."""
    wanted = st.session_state.get(key, st.query_params.get(key, ""))
    number = int(wanted) if str(wanted).isdecimal() and len(str(wanted)) < 10 else default
    st.session_state[key] = min(max(number, least), most)
