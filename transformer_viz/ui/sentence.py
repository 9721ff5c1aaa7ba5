"""The sentence box with its examples; what stands in it stands in the URL."""

import textwrap

import streamlit as st

from transformer_viz.ui.address import keep
from transformer_viz.ui.language import plain, t

MAX_CHARS = 20_000
"""Longest text that is read; the rest is left out, and the page says so."""

MAX_URL_CHARS = 2_000
"""Longest text that is kept in the URL."""


def ask_sentence(examples) -> str:
    """Show the box, filled with the URL's text or the first example, and return what stands in it."""
    first = examples[0] if examples else ""
    former, st.session_state.examples = st.session_state.get("examples", examples), examples
    keep("sentence", st.query_params.get("text", first))
    if former != examples and st.session_state.sentence in former:  # another model, nothing typed yet
        st.session_state.sentence = first
    text = st.text_area(
        t("sentence.label"),
        key="sentence",
        height=68,
        placeholder=t("sentence.placeholder"),
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(t("sentence.show"), type="primary", icon=":material/visibility:")
        for number, example in enumerate(examples):
            st.button(
                plain(textwrap.shorten(example, 30, placeholder=" …")),
                key=f"example-{number}",
                on_click=use_example,
                args=(example,),
                type="tertiary",
                help=plain(example),
            )
    keep_in_url(text, examples)
    if len(text) > MAX_CHARS:
        st.caption(t("sentence.cut", read=f"{MAX_CHARS:,}", total=f"{len(text):,}"))
    return text[:MAX_CHARS]


def use_example(text) -> None:
    """Put an example into the box."""
    st.session_state.sentence = text


def keep_in_url(text, examples) -> None:
    """Write the text to the URL unless it is the one that stands there anyway, or too long for it."""
    if len(text) > MAX_URL_CHARS or text == (examples[0] if examples else ""):
        st.query_params.pop("text", None)
    elif st.query_params.get("text") != text:
        st.query_params["text"] = text
