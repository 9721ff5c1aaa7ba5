"""The line with the text that a model continues, and its examples; the text is kept in the URL."""

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.shell.address import keep
from transformer_viz.ui.shell.card_facts import examples_of
from transformer_viz.ui.shell.language import escaped, t

MAX_CHARS = 20_000
"""Maximum length of a text, in characters; the page notes the truncation."""

MAX_TARGET_CHARS = 2_000
"""Maximum length of a target, in characters."""

MAX_URL_CHARS = 2_000
"""Maximum length of a text kept in the URL, in characters."""


def ask_text(model: store.ModelSummary) -> str:
    """Show the line: the box for the text, and the examples of the model."""
    examples = examples_of(model.card)
    first = examples[0] if examples else ""
    former, st.session_state.examples = st.session_state.get("examples", examples), examples
    keep("sentence", st.query_params.get("text", first))
    if former != examples and st.session_state.sentence in former:  # another model, an example in the box
        st.session_state.sentence = first
    with st.container(key="line", horizontal=True, vertical_alignment="center", gap="xsmall"):
        text = ask_source()
        st.button(t("sentence.show"), help=t("sentence.show.help"))
        offer(examples)
    keep_in_url(text, examples)
    if len(text) > MAX_CHARS:
        st.caption(t("sentence.cut", read=f"{MAX_CHARS:,}", total=f"{len(text):,}"))
    return text[:MAX_CHARS]


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
