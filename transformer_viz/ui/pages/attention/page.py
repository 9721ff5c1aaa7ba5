"""The Attention page: a text, its prediction, and the attention heads."""

import tempfile
from pathlib import Path

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.effects import together_text
from transformer_viz.pictures.views import page
from transformer_viz.ui.pages.attention.filling import show_filling
from transformer_viz.ui.pages.attention.lens import show_lens
from transformer_viz.ui.pages.attention.looks import choose_looks, kept_looks
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
from transformer_viz.values.effects import ablations
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

HIDDEN = "<style>[data-testid=stLayoutWrapper]:has(> .st-key-downloads) { display: none }</style>"


def show(model: store.ModelSummary | None) -> None:
    """Show the page for one model."""
    if model is None:
        show_no_model()
        return
    asked = ask_texts(model)
    request = Request(model.reference, asked.text, asked.target)
    trace = answer(request)
    if trace is None:
        return
    with asked.answer:
        if config_of(model).architecture == "encoder" and not config_of(model).fills_in:
            show_prediction(trace)
        elif config_of(model).has_decoder:
            show_writing(model, trace, own=asked.target is None)
    if config_of(model).fills_in:
        show_filling(model, trace, asked.answer)
    show_reading(trace)
    with asked.options:
        looks, wants_effects = choose_changes(model, trace)
    effects = head_effects(request) if wants_effects else None
    if effects is not None and effects.num_heads > 1:
        st.caption(escaped(together_text(words(), trace, effects)))
    payload = show_lens(trace, request, looks, effects)
    show_downloads(trace, payload)
    show_survey(model, trace)
    show_preferences(model, trace)
    with st.expander(t("attention.what"), icon=":material/help:"):
        st.markdown(t("attention.explained"))
        st.latex(r"\mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right)")


def choose_changes(model: store.ModelSummary, trace: Trace) -> tuple[tuple[str, ...], bool]:
    """Show the menu of what else can be worked out; return the looks, and whether heads are to be ablated."""
    on = [t(f"looks.{look}") for look in kept_looks(trace)]
    runs = len(ablations(config_of(model)))
    named = t("list.comma").join(on)
    label = f"{t('looks.label')} **{named}**" if on else t("looks.label")
    with st.popover(label, icon=":material/filter_alt:"):
        looks = choose_looks(trace)
        ablated = choose_whether("effects", t("effects.label", count=runs), help=t("effects.help"))
    return looks, ablated


def show_downloads(trace: Trace, payload: bytes) -> None:
    """Show the buttons that save the whole trace; the menu of the views presses them."""
    st.html(HIDDEN)
    with st.container(key="downloads"):
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
                on_click="ignore",
                key=f"download-{kind}",
            )


def npz_of(trace: Trace) -> bytes:
    """Return the trace as a file for `Trace.load`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        trace.save(path)
        return path.read_bytes()
