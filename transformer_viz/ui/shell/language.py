"""The visitor's language: its choice, its sentences, and foreign text among them."""

import re

import streamlit as st

from transformer_viz.language import LANGUAGES, Words
from transformer_viz.ui.shell.address import from_address, to_address


def words() -> Words:
    """Return the sentences of the visitor's language."""
    return Words(st.session_state.get("lang", "en"))


def t(key, /, **values) -> str:
    """Return the sentence of a key in the visitor's language, its {names} replaced by values."""
    return words()(key, **values)


def time_of(seconds: float) -> str:
    """Return a duration with its units: hours and minutes, minutes and seconds, or seconds."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return t("time.hours", hours=hours, minutes=minutes)
    return t("time.minutes" if minutes else "time.seconds", minutes=minutes, seconds=seconds)


def choose_language() -> None:
    """Show the choice of language; it starts as the URL's or the browser's and is kept in the URL."""
    browser = "zh" if (st.context.locale or "").startswith("zh") else "en"
    from_address("lang", list(LANGUAGES), browser)
    language = st.segmented_control(
        "Language · 语言",
        list(LANGUAGES),
        format_func=LANGUAGES.get,
        key="lang",
        required=True,
        width="stretch",
        persist_state="session",
    )
    to_address("lang", language)


def escaped(text) -> str:
    """Return text of a person or a data set so that Markdown shows it as it is, on one line.

    An address in it becomes no link: Markdown makes links of what it finds after all marks are unescaped, so
    an invisible word joiner breaks it.
    """
    text = re.sub(_ADDRESS, "\u2060", " ".join(sendable(text).split()))
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def sendable(text) -> str:
    """Return text without what no page can carry or what would disturb the text around it.

    That is half of a surrogate pair, which becomes "?", and characters that control a terminal or turn the
    direction of what follows.
    """
    return re.sub(_CONTROLS, "", text.encode("utf-8", "replace").decode())


_ADDRESS = re.compile(r"(?i)(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+])(?=@[-\w])")
"""Places at which a word joiner keeps Markdown from taking what is there for an address."""

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters of control and of direction; white space is not among them."""
