"""What is chosen on a page, kept in its address under names that no language changes, and from page to page.

Streamlit's own binding of widgets to the address forgets them where pages change: it is not used.
"""

import streamlit as st

from transformer_viz.ui.shell.session import is_history_navigation, page_id

LAST_SET = "said"
"""Key in the session: key of each choice that the address keeps -> the page on which it was last said."""


def follow_history() -> None:
    """Let the address decide once more where the visitor went back or forward in the browser's history."""
    if is_history_navigation():
        for key in st.session_state.pop(LAST_SET, ()):
            st.session_state.pop(key, None)


def keep(key, first) -> None:
    """Choose `first` where nothing is chosen yet; what is chosen stays so when pages change."""
    _set(key, st.session_state.get(key, first))


def from_address(key, options, otherwise=None) -> None:
    """Choose what the address says, if it is one of the options and nothing is chosen yet.

    Args:
        key: Its name in the address and in the session.
        options: What there is to choose from.
        otherwise: What is chosen where neither says one of the options; None: nothing.
    """
    named = {str(option): option for option in options}
    chosen = st.session_state.get(key, named.get(st.query_params.get(key)))
    chosen = chosen if chosen in options else otherwise
    if chosen is None:
        st.session_state.pop(key, None)
    else:
        _set(key, chosen)


def to_address(key, value) -> None:
    """Write a choice to the address; "" takes it out."""
    if value:
        if st.query_params.get(key) != value:
            st.query_params[key] = value
    else:
        st.query_params.pop(key, None)


def choose_one(key, options, label, *, format_func=str, default=None, **settings):
    """Show a choice among a few, kept in the URL unless it is the default.

    Args:
        key: Its name in the address and in the session.
        options: What there is to choose from.
        label: What stands above it.
        format_func: Names an option in the visitor's language.
        default: What an address without one means; None: the first.
        **settings: As `st.segmented_control` takes them.
    """
    default = default or options[0]
    from_address(key, options, default)
    chosen = st.segmented_control(
        label, options, format_func=format_func, key=key, required=True, persist_state="session", **settings
    )
    to_address(key, "" if chosen == default else str(chosen))
    return chosen


def choose_number(key, least, most, label, *, default=None, step=1, **settings) -> int:
    """Show a slider over whole numbers, kept in the URL unless it is the default.

    Args:
        key: Its name in the address and in the session.
        least: Smallest number.
        most: Largest.
        label: What stands above it.
        default: What an address without one means; None: the smallest.
        step: From one number to the next.
        **settings: As `st.slider` takes them.
    """
    default = least if default is None else default
    number_from_address(key, least, most, default, step)
    number = st.slider(label, least, most, step=step, key=key, persist_state="session", **settings)
    to_address(key, "" if number == default else str(number))
    return number


def choose_whether(key, label, **settings) -> bool:
    """Show a switch, off by default, kept in the URL while it is on; settings as `st.toggle` takes them."""
    keep(key, bool(st.query_params.get(key)))
    on = st.toggle(label, key=key, persist_state="session", **settings)
    to_address(key, "1" if on else "")
    return on


def number_from_address(key, least, most, default, step=1) -> None:
    """Choose the whole number the address says, or `default`; what is chosen stays in bounds, on a step."""
    wanted = st.session_state.get(key, st.query_params.get(key, ""))
    number = int(wanted) if str(wanted).isdecimal() and len(str(wanted)) < 10 else default
    number = min(max(number, least), most)
    _set(key, number - (number - least) % step)


def _set(key, value):
    """Choose a value, if it is another one or the page has changed.

    Streamlit forgets then what nobody has touched. Said in every run, it would also be written over what
    somebody is typing.
    """
    page, said = page_id(), st.session_state.setdefault(LAST_SET, {})
    if said.get(key) != page or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
        said[key] = page
