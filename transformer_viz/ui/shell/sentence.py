"""The line with the text, its examples, the target and the answer; the texts are kept in the URL."""

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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


class Asked(NamedTuple):
    """What a visitor asks.

    Attributes:
        text: The text.
        target: Of an encoder-decoder, what the decoder reads; None: the model generates it.
        answer: Place for what the model answers, on the same line.
        options: Place for what the page lets a visitor choose, at the end of the line.
    """

    text: str
    target: str | None
    answer: DeltaGenerator
    options: DeltaGenerator


def ask_texts(model: store.ModelSummary, *, with_target: bool = True) -> Asked:
    """Show the line: the box for the text, for an encoder-decoder that for the target, and the examples.

    Args:
        model: The model.
        with_target: Whether a target can be typed.
    """
    examples = examples_of(model.card)
    has_target = with_target and config_of(model).architecture == "encoder-decoder"
    first = examples[0] if examples else ""
    former, st.session_state.examples = st.session_state.get("examples", examples), examples
    keep("sentence", st.query_params.get("text", first))
    if former != examples and st.session_state.sentence in former:  # another model, an example in the box
        st.session_state.sentence = first
    with st.container(key="line", horizontal=True, vertical_alignment="center"):
        with st.container(key="asked", horizontal=True, vertical_alignment="center", gap="xsmall"):
            text = ask_source()
            target = ask_target() if has_target else None
            st.button(t("sentence.show"), help=t("sentence.show.help"))
            offer(examples)
        answer = st.container(key="answer", horizontal=True, vertical_alignment="center", gap="small")
        options = st.container(horizontal=True, width="content")
    keep_in_url(text, examples)
    if len(text) > MAX_CHARS:
        st.caption(t("sentence.cut", read=f"{MAX_CHARS:,}", total=f"{len(text):,}"))
    return Asked(text[:MAX_CHARS], target, answer, options)


def ask_source() -> str:
    """Show the box for the text."""
    return st.text_input(
        t("sentence.label"),
        key="sentence",
        placeholder=t("sentence.placeholder"),
        on_change=leave_target,
        persist_state="session",
        label_visibility="collapsed",
    )


def ask_target() -> str | None:
    """Show the box for the target; return None if the model is to generate it."""
    keep("target", st.query_params.get("target", "")[:MAX_TARGET_CHARS])
    typed = st.text_input(
        t("target.label"),
        key="target",
        persist_state="session",
        placeholder=t("target.placeholder"),
        max_chars=MAX_TARGET_CHARS,
        label_visibility="collapsed",
    )
    to_address("target", typed)
    return typed if typed and typed.strip() else None


def offer(examples: list[str]) -> None:
    """Show the examples, if there are any."""
    if not examples:
        return
    with st.popover(t("sentence.examples"), key="example-menu", type="tertiary"):
        for number, example in enumerate(examples):
            st.button(
                escaped(example),
                key=f"example-{number}",
                on_click=use_example,
                args=(example,),
                type="tertiary",
            )


def use_example(text: str) -> None:
    """Put an example into the box."""
    st.session_state.sentence = text
    leave_target()


def leave_target() -> None:
    """Leave the target to the model: one that was typed belongs to another text."""
    st.session_state.target = ""


def keep_in_url(text: str, examples: list[str]) -> None:
    """Write the text to the URL unless it is the first example or too long."""
    if len(text) > MAX_URL_CHARS or text == (examples[0] if examples else ""):
        st.query_params.pop("text", None)
    elif st.query_params.get("text") != text:
        st.query_params["text"] = text
