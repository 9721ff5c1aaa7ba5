"""Every sentence of the interface, in the visitor's language."""

import functools
import json
import re
from importlib import resources

import streamlit as st

LANGUAGES = {"en": "English", "zh": "简体中文"}


@functools.cache
def sentences(language) -> dict[str, str]:
    """Return key -> sentence of one language."""
    text = resources.files(__package__).joinpath("text", f"{language}.json").read_text(encoding="utf-8")
    return json.loads(text)


def t(key, /, **values) -> str:
    """Return the sentence of that key in the visitor's language, its {names} filled in."""
    return sentences(st.session_state.get("lang", "en"))[key].format(**values)


def choose_language() -> None:
    """Show the choice of language; it starts as the URL's or the browser's and is kept in the URL."""
    if "lang" not in st.session_state:
        browser = "zh" if (st.context.locale or "").startswith("zh") else "en"
        wanted = st.query_params.get("lang")
        st.session_state.lang = wanted if wanted in LANGUAGES else browser
    language = st.segmented_control(
        "Language · 语言",
        list(LANGUAGES),
        format_func=LANGUAGES.get,
        key="lang",
        required=True,
        width="stretch",
        persist_state="session",  # one page may open another, and Streamlit forgets then
    )
    if st.query_params.get("lang") != language:
        st.query_params["lang"] = language


def plain(text) -> str:
    """Return text of a person or a data set so that Markdown shows it as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))
