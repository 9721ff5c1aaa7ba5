"""The visitor's language: choice, sentences, and escaping of user text."""

import re

import streamlit as st

from transformer_viz.language import LANGUAGES, TAGS, Words
from transformer_viz.ui.shell.address import from_address, to_address

DECLARATIONS = {language: f"document.documentElement.lang = '{tag}'" for language, tag in TAGS.items()}
"""Language -> script that declares it; `web.POLICY` allows these scripts and no other inline ones."""


def words() -> Words:
    """Return the sentences of the visitor's language."""
    return Words(st.session_state.get("lang", "en"))


def t(key: str, /, **values: object) -> str:
    """Return the sentence of a key in the visitor's language, with {names} replaced by values."""
    return words()(key, **values)


def time_of(seconds: float) -> str:
    """Return a duration as hours and minutes, minutes and seconds, or seconds."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return t("time.hours", hours=hours, minutes=minutes)
    return t("time.minutes" if minutes else "time.seconds", minutes=minutes, seconds=seconds)


def read_language() -> None:
    """Begin with the language of the URL or, without one, of the browser."""
    browser = "zh" if (st.context.locale or "").startswith("zh") else "en"
    from_address("lang", list(LANGUAGES), browser)


def choose_language() -> None:
    """Show the choice of language, after `read_language`; keep it in the URL."""
    language = st.segmented_control(
        "Language · 语言",
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key="lang",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    to_address("lang", language)


def declare_language() -> None:
    """Declare the visitor's language in the page's `lang` attribute, which screen readers and fonts follow.

    Streamlit has no setting for it.
    """
    st.html(f"<script>{DECLARATIONS[words().language]}</script>", unsafe_allow_javascript=True)


def escaped(text: str) -> str:
    """Return user text escaped for Markdown, on one line.

    A word joiner breaks URLs and e-mail addresses: Markdown links them even if their characters are escaped.
    """
    text = re.sub(_ADDRESS, "\u2060", " ".join(sendable(text).split()))
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def sendable(text: str) -> str:
    """Return text without control characters and bidirectional controls; unpaired surrogates become "?"."""
    return re.sub(_CONTROLS, "", text.encode("utf-8", "replace").decode())


_ADDRESS = re.compile(r"(?i)(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+])(?=@[-\w])")
"""PositionsInAttention at which a word joiner keeps Markdown from making a link."""

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters other than white space, and bidirectional controls."""
