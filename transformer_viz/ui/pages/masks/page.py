"""The Masks page: the effect of a mask on one head and on the prediction."""

import streamlit as st

from transformer_viz import store
from transformer_viz.ui.pages.masks.choice import ask_mask, offer_painting
from transformer_viz.ui.pages.masks.effect import shares_of_weight, show_meters, show_prediction
from transformer_viz.ui.pages.masks.sides import compare, room_for_padding
from transformer_viz.ui.pages.masks.views import LAYOUT, VIEWS
from transformer_viz.ui.shell.address import choose_one
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.heads import choose_attention, choose_head, forget_other_model, sync_with_views
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.reading import show_reading
from transformer_viz.ui.shell.sentence import ask_texts
from transformer_viz.ui.shell.shelf import show_no_model
from transformer_viz.values.request import Request


def show(model: store.ModelSummary | None) -> None:
    """Show the page for one model."""
    st.header(t("masks.title"), anchor=False)
    if model is None:
        show_no_model()
        return
    config = config_of(model)
    asked = ask_texts(model)
    request = Request(model.reference, asked.text, asked.target)
    unchanged = answer(request)
    if unchanged is None:
        return
    show_reading(unchanged)
    with st.container(horizontal=True, gap="medium"):
        forget_other_model(model.reference)
        kind = choose_attention(unchanged)
        found = unchanged.kinds()[kind]
        layer, head = choose_head(model.reference, kind, len(found.layers), config.num_heads)
        views = list(VIEWS)
        view = choose_one(
            "mask_view", views, t("masks.view"), format_func=lambda view: t(f"masks.view_{view}")
        )
    sync_with_views(model=unchanged.model, kind=kind, layer=layer, head=head)
    size = max(len(found.query_tokens), len(found.key_tokens))
    with st.container():  # keeps the elements below in place, however many runs are requested
        choice = ask_mask(size, room_for_padding(unchanged, config, kind), ordered=kind != "cross")
        sides = compare(request, choice, kind, translates=config.architecture == "encoder-decoder")
    if sides is None:
        return
    heads = [side.head(layer - 1, head - 1) for side in sides]
    st.html(LAYOUT)
    VIEWS[view](*heads)
    if choice.kind == "painted" and view != "steps":
        offer_painting()
    with st.container(key="mask-effects"):
        if meters := shares_of_weight(*heads):
            with st.container(border=True, height="stretch"):
                show_meters(meters)
        with st.container(border=True, height="stretch"):
            show_prediction(*sides)
    with st.expander(t("attention.what"), icon=":material/help:"):
        st.markdown(t("masks.explained"))
        st.latex(r"\mathrm{weights}_{ij} = \frac{M_{ij}\, e^{s_{ij}}}{\sum_k M_{ik}\, e^{s_{ik}}}")
