"""Every sentence of the interface, in the visitor's language."""

import contextlib
import contextvars
import functools
import json
import re
from importlib import resources

import streamlit as st

from transformer_viz.ui.shell.address import from_address, to_address

LANGUAGES = {"en": "English", "zh": "简体中文"}

_SPOKEN = contextvars.ContextVar("language", default=None)
"""Language of what is made outside the app; None: the visitor's."""


@functools.cache
def sentences(language) -> dict[str, str]:
    """Return key -> sentence of one language."""
    file = resources.files("transformer_viz.ui").joinpath("text", f"{language}.json")
    return json.loads(file.read_text(encoding="utf-8"))


def t(key, /, **values) -> str:
    """Return the sentence of that key in the visitor's language, its {names} filled in."""
    return sentences(spoken())[key].format(**values)


def spoken() -> str:
    """Return the language that is spoken: the visitor's, or that of `speaking`."""
    return _SPOKEN.get() or st.session_state.get("lang", "en")


def words_under(prefix) -> dict:
    """Return the sentences whose keys begin with a prefix, as they are, by the rest of their keys.

    "prefix.name" is words["name"], "prefix.group.name" is words["group"]["name"].
    """
    words = {}
    for key, sentence in sentences(spoken()).items():
        first, *group, name = key.split(".")
        if first == prefix:
            (words.setdefault(group[0], {}) if group else words)[name] = sentence
    return words


@contextlib.contextmanager
def speaking(language):
    """Let `t` return sentences of one language, whoever visits."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


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


def plain(text) -> str:
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
