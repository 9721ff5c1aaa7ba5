"""The Writing page: a text token by token, the distribution of each, and where the model looked."""

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.writing import Written, step_of
from transformer_viz.ui.pages.writing.settings import keep_settings, kept_settings
from transformer_viz.ui.pages.writing.steps import Steps, act, can_undo, kept_steps
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.heads import head_roles_of
from transformer_viz.ui.shell.language import escaped, sendable, t, words
from transformer_viz.ui.shell.projector import choose_projector, is_projected
from transformer_viz.ui.shell.reading import show_reading
from transformer_viz.ui.shell.sentence import ask_texts
from transformer_viz.ui.shell.shelf import purpose_of, select_model, show_no_model, shown_models
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

VIEW = "writing-step"
"""Session key of the component."""

OPENED = "open-attention"
"""Session key: whether the step is to be opened on the Attention page."""


class Room(NamedTuple):
    """How much a model can write behind a text.

    Attributes:
        prompt: Token ids of the text that a decoder continues, without [START]; None: an encoder-decoder.
        most: Most tokens that can be written; the last one is not read any more.
    """

    prompt: tuple[int, ...] | None
    most: int


def show(model: store.ModelSummary | None, open_attention: Callable[[], None]) -> None:
    """Show the page for one model.

    Args:
        model: The model; None: there is none.
        open_attention: Goes to the Attention page.
    """
    if st.session_state.pop(OPENED, False):
        open_attention()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header(t("writing.title"), anchor=False, width="content")
        choose_projector()
    if model is None:
        show_no_model()
        return
    config = config_of(model)
    if not config.has_decoder:
        offer_writers(model)
        return
    asked = ask_texts(model, with_target=False)
    plain = Request(model.reference, asked.text)
    room = room_behind(config, plain)
    if room is None:
        return
    steps = kept_steps((model.name, asked.text), config.num_outputs, room.most)
    trace = answer(request_of(plain, room, steps))
    if trace is None:
        return
    show_reading(trace)
    show_step(model, config, asked.text, room, steps, trace)
    with st.expander(t("attention.what"), icon=":material/help:"):
        st.markdown(t("writing.explained"))
        st.latex(r"p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}}")


def room_behind(config: TransformerConfig, request: Request) -> Room | None:
    """Return how much can be written behind a text; None if it cannot be read, which is then shown."""
    if config.has_encoder:
        return Room(None, config.target_max_len or config.max_len)
    trace = answer(request)
    if trace is None:
        return None
    return Room(tuple(map(int, trace.token_ids[1:])), config.max_len + 1 - len(trace.token_ids))


def request_of(request: Request, room: Room, steps: Steps) -> Request:
    """Return the request whose trace holds the distribution of every step.

    Args:
        request: That of the text alone.
        room: How much can be written.
        steps: What is written.
    """
    read = steps.ids[: steps.last(room.most)]
    if room.prompt is None:
        return Request(request.model, request.text, read)
    return Request(request.model, (*room.prompt, *read)) if read else request


def show_step(
    model: store.ModelSummary,
    config: TransformerConfig,
    text: str,
    room: Room,
    steps: Steps,
    trace: Trace,
) -> None:
    """Show a step and what can be done in it."""
    begin = 0 if room.prompt is None else len(room.prompt)
    note = ""
    if steps.has_ended:
        note = t("writing.ended")
    elif len(steps.ids) == room.most:
        note = t("writing.full", most=config.target_max_len or config.max_len)
    written = Written(trace, begin, steps.ids, steps.step, note)
    roles = head_roles_of(model.reference)
    opening = {} if roles is None else {kind: found.opening() for kind, found in roles.kinds.items()}
    shown = step_of(words(), written, prompt=sendable(" ".join(text.split())), opening=opening)
    page = {"of": steps.text(), "settings": kept_settings(), "undo": can_undo(), "projected": is_projected()}
    component("writing", "writing")(
        data=shown | page,
        key=VIEW,
        on_acted_change=lambda: act(st.session_state[VIEW].acted, config.num_outputs, room.most),
        on_settings_change=lambda: keep_settings(st.session_state[VIEW].settings),
    )
    st.button(
        t("writing.attention"),
        icon=":material/visibility:",
        help=t("writing.attention.help"),
        on_click=open_step,
        args=(trace.text if room.prompt is not None and steps.ids else text, trace.target_text),
    )


def open_step(text: str, target: str) -> None:
    """Open what is written on the Attention page."""
    st.session_state.update({"sentence": text, "target": target, OPENED: True})


def offer_writers(model: store.ModelSummary) -> None:
    """Say that a model does not write, with buttons that open those that do."""
    writers = [each for each in shown_models() if not each.problem and config_of(each).has_decoder]
    st.info(t("writing.none", model=escaped(model.name)), icon=":material/edit_note:")
    if writers:
        st.markdown(t("writing.others"))
    with st.container(horizontal=True, gap="small"):
        for writer in writers:
            label = f"{escaped(writer.name)} · {escaped(purpose_of(writer))}"
            st.button(label, key=f"open-{writer.name}", on_click=select_model, args=(writer.name,))
