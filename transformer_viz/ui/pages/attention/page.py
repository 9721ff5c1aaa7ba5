"""The Attention page: a text, its prediction, and the attention heads."""

import tempfile
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.pictures.effects import together_text
from transformer_viz.pictures.views import page
from transformer_viz.ui.pages.attention.filling import show_filling
from transformer_viz.ui.pages.attention.lens import show_lens
from transformer_viz.ui.pages.attention.looks import choose_looks
from transformer_viz.ui.pages.attention.prediction import show_prediction, show_writing
from transformer_viz.ui.pages.attention.preferences import show_preferences
from transformer_viz.ui.pages.attention.survey import show_survey
from transformer_viz.ui.shell.address import choose_whether
from transformer_viz.ui.shell.answers import answer, head_effects
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.reading import show_reading
from transformer_viz.ui.shell.sentence import ask_texts
from transformer_viz.ui.shell.shelf import show_no_model
from transformer_viz.values.effects import HeadEffects, ablations
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace


def show(model: store.ModelSummary | None) -> None:
    """Show the page for one model."""
    st.header(t("attention.title"), anchor=False)
    if model is None:
        show_no_model()
        return
    text, target = ask_texts(model)
    request = Request(model.reference, text, target)
    trace = answer(request)
    if trace is None:
        return
    if config_of(model).fills_in:
        show_filling(model, trace)
    elif config_of(model).has_decoder:
        show_writing(model, trace, own=target is None)
    else:
        show_prediction(trace)
    show_reading(trace)
    own_texts = show_heads(model, trace, request)
    with st.expander(t("attention.what"), icon=":material/help:"):
        st.markdown(t("attention.explained"))
        st.latex(r"\mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right)")
    with own_texts:
        show_survey(model, trace)


def ask_effects(model: store.ModelSummary, request: Request) -> HeadEffects | None:
    """Show the switch for head ablation; return the effects of the heads, None if it is off."""
    runs = len(ablations(config_of(model)))
    if not choose_whether("effects", t("effects.label", count=runs), help=t("effects.help")):
        return None
    return head_effects(request)


def show_heads(model: store.ModelSummary, trace: Trace, request: Request) -> DeltaGenerator:
    """Show the attention views and the download buttons; return the place for the survey between them."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        looks, effects = choose_looks(trace), ask_effects(model, request)
    if effects is not None and effects.num_heads > 1:
        st.caption(escaped(together_text(words(), trace, effects)))
    payload = show_lens(trace, request, looks, effects)
    own_texts = st.container()
    show_preferences(model, trace)
    with st.container(horizontal=True, gap="small"):
        for kind, mime, make in (
            ("csv", "text/csv", lambda: trace.to_frame().to_csv(index=False)),
            ("npz", "application/zip", lambda: npz_of(trace)),
            ("html", "text/html", lambda: page(payload, title=f"{trace.model}: {trace.text}")),
        ):
            st.download_button(
                t(f"download.{kind}"),
                make,
                file_name=f"{trace.model}-attention.{kind}",
                mime=mime,
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key=f"download-{kind}",
            )
    return own_texts


def npz_of(trace: Trace) -> bytes:
    """Return the trace as a file for `Trace.load`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        trace.save(path)
        return path.read_bytes()
