"""Text boxes for source and target, with examples; their texts are kept in the URL."""

import textwrap

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.shell.address import keep, to_address
from transformer_viz.ui.shell.card import examples_of
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t

MAX_CHARS = 20_000
"""Maximum length of a text, in characters; the page notes the truncation."""

MAX_TARGET_CHARS = 2_000
"""Maximum length of a target, in characters."""

MAX_URL_CHARS = 2_000
"""Maximum length of a text kept in the URL, in characters."""


def ask_sentence(examples: list[str]) -> str:
    """Show the text box, filled from the URL or with the first example, and return its text."""
    text = ask_source(examples)
    offer(examples)
    return text


def ask_texts(model: store.ModelSummary) -> tuple[str, str | None]:
    """Show the box for the text and, for an encoder-decoder, that for the target; return both."""
    examples = examples_of(model.card)
    if config_of(model).architecture != "encoder-decoder":
        return ask_sentence(examples), None
    reads, writes = st.columns([3, 2], gap="medium")
    with reads:
        text = ask_source(examples)
    with writes:
        target = ask_target()
    offer(examples)
    return text, target


def ask_source(examples: list[str]) -> str:
    """Show the text box."""
    first = examples[0] if examples else ""
    former, st.session_state.examples = st.session_state.get("examples", examples), examples
    keep("sentence", st.query_params.get("text", first))
    if former != examples and st.session_state.sentence in former:  # another model, an example in the box
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
    """Show the box for the target; return None if the model is to generate it."""
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


def offer(examples: list[str]) -> None:
    """Show the button, and the examples."""
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


def use_example(text: str) -> None:
    """Put an example into the text box."""
    st.session_state.sentence = text


def keep_in_url(text: str, examples: list[str]) -> None:
    """Write the text to the URL unless it is the first example or too long."""
    if len(text) > MAX_URL_CHARS or text == (examples[0] if examples else ""):
        st.query_params.pop("text", None)
    elif st.query_params.get("text") != text:
        st.query_params["text"] = text
