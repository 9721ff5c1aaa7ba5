"""The views of the Writing page: a step with its candidates, and the tree of a beam search."""

from typing import Any, NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.explorer.beams import BeamRequest
from transformer_viz.language import joined
from transformer_viz.network.config import never_written
from transformer_viz.pictures.beams import beams_of
from transformer_viz.pictures.writing import Written, prompt_text, step_of
from transformer_viz.trace.top_tokens import is_whole
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.pages.writing.settings import keep_settings, kept_settings
from transformer_viz.ui.pages.writing.steps import act, can_undo
from transformer_viz.ui.shell.address import choose_number
from transformer_viz.ui.shell.answers import answer, beam_tree
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.heads import head_roles_of
from transformer_viz.ui.shell.language import sendable, t, words
from transformer_viz.ui.shell.projector import is_projected
from transformer_viz.ui.workbench.mount import own_seat
from transformer_viz.ui.workbench.written import Room, Steps, request_of

STEP, BEAMS = "writing-step", "writing-beams"
"""Session keys of the components."""

OPENED = "open-attention"
"""Session key: whether the step is to be opened on the Attention page."""

WIDEST, USUAL = 6, 3
"""Largest beam width, and the one that is shown first."""

MOST_STEPS = 48
"""Most steps of a beam search: what a translator writes mostly ends before them."""


class Shown(NamedTuple):
    """What the views show.

    Attributes:
        model: The model.
        text: The text as typed.
        room: How much can be written behind it.
        steps: What is written.
        trace: A forward pass over it.
    """

    model: store.ModelSummary
    text: str
    room: Room
    steps: Steps
    trace: Trace


def show_step(shown: Shown) -> None:
    """Show a step and what can be done in it."""
    model, text, room, steps, trace = shown
    config, note = config_of(model), ""
    if steps.has_ended:
        note = t("writing.ended")
    elif len(steps.ids) == room.most:
        note = t("writing.full", most=config.target_max_len or config.max_len)
    here = trace
    if not is_whole(trace) and steps.step < steps.last(room.most):
        here = answer(request_of(model.reference, text, room, steps.before()))
        if here is None:
            return
    roles = head_roles_of(model.reference)
    opening = {} if roles is None else {kind: roles.opening(kind) for kind in roles.kinds}
    written = Written(trace, here, room.begin, steps.ids, steps.step, note, never_written(config))
    own = {"settings": kept_settings(), "undo": can_undo(), "token": own_seat().token}
    own |= {"model": model.name, "source": text}
    component("writing", "writing")(
        data=step_of(words(), written, opening=opening) | own | _around(shown),
        key=STEP,
        on_acted_change=lambda: _act(shown, STEP),
        on_settings_change=lambda: keep_settings(st.session_state[STEP].settings),
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


def show_beams(shown: Shown) -> None:
    """Show the beam search from the step on that is shown, as a tree."""
    model, text, room, steps, trace = shown
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        named, said = t("writing.width"), joined(t("gloss.beam_search"), t("writing.width_help"))
        width = choose_number("beams", 1, WIDEST, named, default=USUAL, help=said, width=232)
        with st.container(key="beams-said"):
            st.markdown(t("writing.beams", width=width))
    start = text if room.prompt is None else room.prompt
    tree = beam_tree(BeamRequest(model.reference, start, steps.ids[: steps.step], width, MOST_STEPS))
    if tree is None:
        return
    component("beams", "beams")(
        data=beams_of(words(), tree, trace) | _around(shown),
        key=BEAMS,
        on_acted_change=lambda: _act(shown, BEAMS),
    )


def _around(shown: Shown) -> dict[str, Any]:
    """Return what both views are told: what is written, the text before it, and how large to draw."""
    text = sendable(" ".join(shown.room.text.split()))
    return {
        "of": shown.steps.text(),
        "prompt": prompt_text(text, translates=shown.room.prompt is None),
        "projected": is_projected(),
    }


def _act(shown, key):
    act(st.session_state[key].acted, config_of(shown.model), shown.room.most)


VIEWS = {"steps": show_step, "beams": show_beams}
"""Name -> what shows the view."""
