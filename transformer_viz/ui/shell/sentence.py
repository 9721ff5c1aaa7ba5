"""The boxes for what is read and what is written, with examples; what stands in them stands in the URL."""

import textwrap

import streamlit as st

from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.card import examples_of
from transformer_viz.ui.shell.language import escaped, t

MAX_CHARS = 20_000
"""Longest text that is read; the rest is left out, and the page says so."""

MAX_TARGET_CHARS = 2_000
"""Longest target that can be typed."""

MAX_URL_CHARS = 2_000
"""Longest text that is kept in the URL."""


def ask_sentence(examples) -> str:
    """Show the box, filled with the URL's text or the first example, and return what stands in it."""
    text = ask_source(examples)
    offer(examples)
    return text


def ask_texts(model) -> tuple[str, str | None]:
    """Show the boxes for what is read and, of an encoder-decoder, what is written; return both."""
    examples = examples_of(model.card)
    if model.config.architecture != "encoder-decoder":
        return ask_sentence(examples), None
    reads, writes = st.columns([3, 2], gap="medium")
    with reads:
        text = ask_source(examples)
    with writes:
        target = ask_target()
    offer(examples)
    return text, target


def ask_source(examples) -> str:
    """Show the box for what is read."""
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
    keep_in_url(text, examples)
    if len(text) > MAX_CHARS:
        st.caption(t("sentence.cut", read=f"{MAX_CHARS:,}", total=f"{len(text):,}"))
    return text[:MAX_CHARS]


def ask_target() -> str | None:
    """Show the box for what the decoder has written; None if the model is to write it itself."""
    keep("target", st.query_params.get("target", "")[:MAX_TARGET_CHARS])
    typed = st.text_input(
        t("target.label"),
        key="target",
        persist_state="session",
        placeholder=t("target.placeholder"),
        help=t("target.help"),
        max_chars=MAX_TARGET_CHARS,
    )
    to_address("target", typed)
    return typed if typed and typed.strip() else None


def offer(examples) -> None:
    """Show the button, and the examples one may take."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(t("sentence.show"), type="primary", icon=":material/visibility:")
        for number, example in enumerate(examples):
            st.button(
                escaped(textwrap.shorten(example, 30, placeholder=" …")),
                key=f"example-{number}",
                on_click=use_example,
                args=(example,),
                type="tertiary",
                help=escaped(example),
            )


def use_example(text) -> None:
    """Put an example into the box."""
    st.session_state.sentence = text


def keep_in_url(text, examples) -> None:
    """Write the text to the URL unless it is the one that stands there anyway, or too long for it."""
    if len(text) > MAX_URL_CHARS or text == (examples[0] if examples else ""):
        st.query_params.pop("text", None)
    elif st.query_params.get("text") != text:
        st.query_params["text"] = text
