"""Persist widget choices in the URL and across pages.

Streamlit's own binding of widgets to the URL is not used: it drops the values when the page changes.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from transformer_viz.ui.shell.session import is_history_navigation, page_id

Option = TypeVar("Option")

LAST_SET = "last-set"
"""Session key of: widget key -> page on which its value was last set."""


def follow_history() -> None:
    """After back or forward in the browser's history, take all choices from the URL again."""
    if is_history_navigation():
        for key in st.session_state.pop(LAST_SET, ()):
            st.session_state.pop(key, None)


def keep(key: str, first: object) -> None:
    """Set a widget to `first` unless it has a value; keep its value when the page changes."""
    _set(key, st.session_state.get(key, first))


def from_address(key: str, options: Sequence[object], otherwise: object = None) -> None:
    """Set a widget without a value to the option in the URL, if there is one.

    Args:
        key: Its name in the URL and in the session.
        options: All options.
        otherwise: Value if neither the session nor the URL has a valid option; None: none.
    """
    named = {str(option): option for option in options}
    chosen = st.session_state.get(key, named.get(st.query_params.get(key, "")))
    chosen = chosen if chosen in options else otherwise
    if chosen is None:
        st.session_state.pop(key, None)
    else:
        _set(key, chosen)


def to_address(key: str, value: str | None) -> None:
    """Write a choice to the URL; "" removes it."""
    if value:
        if st.query_params.get(key) != value:
            st.query_params[key] = value
    else:
        st.query_params.pop(key, None)


def choose_one(
    key: str,
    options: Sequence[Option],
    label: str,
    *,
    format_func: Callable[[Option], str] = str,
    default: Option | None = None,
    **settings: Any,
) -> Option:
    """Show a segmented control, kept in the URL unless it is the default.

    Args:
        key: Its name in the URL and in the session.
        options: All options.
        label: Label above it.
        format_func: Returns the name of an option in the visitor's language.
        default: Value if the URL has none; None: the first option.
        **settings: As `st.segmented_control` takes them.
    """
    default = default or options[0]
    from_address(key, options, default)
    chosen = st.segmented_control(
        label, options, format_func=format_func, key=key, required=True, persist_state="session", **settings
    )
    to_address(key, "" if chosen == default else str(chosen))
    return chosen


def choose_number(
    key: str, low: int, high: int, label: str, *, default: int | None = None, step: int = 1, **settings: Any
) -> int:
    """Show a slider over whole numbers, kept in the URL unless it is the default.

    Args:
        key: Its name in the URL and in the session.
        low: Smallest number.
        high: Largest number.
        label: Label above it.
        default: Value if the URL has none; None: the smallest.
        step: Distance between two numbers.
        **settings: As `st.slider` takes them.
    """
    default = low if default is None else default
    number_from_address(key, low, high, default, step)
    number = st.slider(label, low, high, step=step, key=key, persist_state="session", **settings)
    to_address(key, "" if number == default else str(number))
    return number


def choose_whether(key: str, label: str, *, usual: bool = False, **settings: Any) -> bool:
    """Show a switch, kept in the URL while it is not as usual; settings as `st.toggle` takes them.

    Args:
        key: Its name, also in the URL.
        label: What stands beside it.
        usual: Whether it is on by default.
        **settings: As `st.toggle` takes them.
    """
    given = st.query_params.get(key, "")
    keep(key, given != "0" if usual else bool(given))
    on = st.toggle(label, key=key, persist_state="session", **settings)
    to_address(key, "" if on == usual else str(int(on)))
    return on


def number_from_address(key: str, low: int, high: int, default: int, step: int = 1) -> None:
    """Set a widget without a value to the whole number in the URL, or to `default`; clip it to the range."""
    wanted = st.session_state.get(key, st.query_params.get(key, ""))
    number = int(wanted) if str(wanted).isdecimal() and len(str(wanted)) < 10 else default
    number = min(max(number, low), high)
    _set(key, number - (number - low) % step)


def _set(key, value):
    """Set the value of a widget if it differs or the page has changed, when Streamlit drops untouched values.

    Setting it in every run would overwrite what the visitor is typing.
    """
    page, last_set = page_id(), st.session_state.setdefault(LAST_SET, {})
    if last_set.get(key) != page or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
        last_set[key] = page
