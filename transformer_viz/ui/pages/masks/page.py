"""The Masks page: the effect of a mask on one head and on the prediction."""

from collections.abc import Callable

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.masks.choice import ask_mask, offer_painting
from transformer_viz.ui.pages.masks.effect import shares_of_weight, show_meters, show_prediction, show_writing
from transformer_viz.ui.pages.masks.sides import (
    Side,
    compare,
    looking_ahead,
    on_attention,
    room_for_padding,
    with_target_of,
)
from transformer_viz.ui.pages.masks.views import VIEWS
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.changing import offer_comparison
from transformer_viz.ui.shell.explained import show_explained
from transformer_viz.ui.shell.heads import beside_heads, choose_head
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.pipeline import show_pipeline
from transformer_viz.ui.shell.reading import show_reading
from transformer_viz.ui.shell.sentence import ask_texts
from transformer_viz.ui.shell.title_row import show_title_row
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

PARTS = {"cross": ("decoder", "cross")}
"""Kind of attention -> the stack and the part that have it; others: the self-attention of that stack."""


def show(model: store.ModelSummary, open_attention: Callable[[], None]) -> None:
    """Show the page for one model.

    Args:
        model: The model.
        open_attention: Goes to the Attention page.
    """
    names = {view: t(f"masks.view_{view}") for view in VIEWS}
    view = show_title_row(t("masks.title"), "mask_view", names, t("masks.view"))
    config, place = config_of(model), st.container()
    asked = ask_texts(model)
    request = Request(model.reference, asked.text, asked.target)
    unchanged = answer(request)
    if unchanged is None:
        return
    show_reading(unchanged, model)
    heads, beside = beside_heads()
    with heads:
        kind, layer, head = choose_head(
            unchanged, request, opening=lambda kind: looking_ahead(unchanged, kind)
        )
    with place:
        show_pipeline(model, *PARTS.get(kind, (kind, "self")))
    with beside:
        sides = show_masked(view, request, unchanged, model, kind, (layer, head))
        if sides and (runs := on_attention(sides, config, request, unchanged)):
            offer_comparison(*runs, open_attention)
    show_explained("masks", r"\mathrm{weights}_{ij} = \frac{M_{ij}\, e^{s_{ij}}}{\sum_k M_{ik}\, e^{s_{ik}}}")


def show_masked(
    view: str,
    request: Request,
    unchanged: Trace,
    model: store.ModelSummary,
    kind: str,
    place: tuple[int, int],
) -> tuple[Side, Side] | None:
    """Show one head and the prediction with the chosen mask.

    Args:
        view: A name in `VIEWS`.
        request: What is asked.
        unchanged: Its answer, with the model's own mask.
        model: The model.
        kind: Kind of attention.
        place: Layer and head, 1-based.

    Returns:
        The runs with the chosen mask and with the reference; None if either has no answer.
    """
    config, found = config_of(model), unchanged.kinds()[kind]
    size = max(len(found.query_tokens), len(found.key_tokens))
    with st.container():  # keeps the elements below in place, however many runs are requested
        choice = ask_mask(size, room_for_padding(unchanged, config, kind), ordered=kind != "cross")
        fixed = with_target_of(config, request, unchanged)
        layer, head = place
        translates = config.architecture == "encoder-decoder"
        sides = compare(fixed, choice, kind, layer - 1, translates=translates)
    if sides is None:
        return None
    heads = [side.head(layer - 1, head - 1) for side in sides]
    VIEWS[view](*heads)
    if choice.kind == "painted" and view != "steps":
        offer_painting()
    with st.container(key="mask-effects"):
        if meters := shares_of_weight(*heads):
            with st.container(border=True, height="stretch"):
                show_meters(meters)
        with st.container(border=True, height="stretch"):
            show_prediction(model, *sides)
            if request.target is None and unchanged.target_ids.size:
                show_writing(sides, config)
    return sides
