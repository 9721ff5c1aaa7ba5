"""The Attention page: a text, its prediction, and the attention heads."""

import tempfile
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.pictures.effects import together_text
from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.views import page
from transformer_viz.text.tokenizer import END, MASK
from transformer_viz.ui.pages.attention.lens import show_lens
from transformer_viz.ui.pages.attention.looks import choose_looks
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

MAX_BARS = 3
"""Maximum number of labels with a probability bar."""

MAX_GAPS = 3
"""Maximum number of [MASK] positions with predictions."""


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
        show_filling(trace)
    elif config_of(model).has_decoder:
        show_writing(trace, own=target is None)
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


def show_prediction(trace: Trace) -> None:
    """Show the prediction, with the probabilities of the likeliest labels."""
    best = int(trace.probs.argmax())
    likeliest = sorted(np.argsort(-trace.probs)[:MAX_BARS])
    sentence, *bars = st.columns([2, *[1] * len(likeliest)], vertical_alignment="center", gap="medium")
    sentence.markdown(
        t("prediction.sentence", label=escaped(trace.labels[best]), percent=f"{trace.probs[best]:.1%}")
    )
    for bar, i in zip(bars, likeliest, strict=True):
        bar.progress(float(trace.probs[i]), text=f"{escaped(trace.labels[i])} · {trace.probs[i]:.1%}")


def show_writing(trace: Trace, *, own: bool) -> None:
    """Show the generated target, or the prediction for the next token."""
    probs = trace.probs[-1]
    if own and trace.encoder:
        ellipsis = "" if trace.labels[probs.argmax()] == END else " …"
        st.markdown(t("writing.sentence", text=(escaped(trace.target_text) or "∅") + ellipsis))
        return
    show_tokens(trace, probs, "writing.next")


def show_filling(trace: Trace) -> None:
    """Show the predictions for each [MASK]."""
    if not len(trace.gaps):
        st.caption(t("filling.none", mask=escaped(MASK)))
    for place in trace.gaps[:MAX_GAPS]:
        show_tokens(trace, trace.probs[place], "filling.gap", mask=escaped(MASK))


def show_tokens(trace: Trace, probs: np.ndarray, key: str, **values: str) -> None:
    """Show the likeliest token, with the probabilities of the first ones.

    Args:
        trace: The trace that names the labels.
        probs: float (label,).
        key: Key of the sentence.
        **values: Further values in the sentence.
    """
    likeliest = np.argsort(-probs)[:MAX_BARS]
    sentence, *bars = st.columns([2, *[1] * len(likeliest)], vertical_alignment="center", gap="medium")
    best = likeliest[0]
    sentence.markdown(t(key, token=escaped(label_of(trace, best)), percent=f"{probs[best]:.1%}", **values))
    for bar, i in zip(bars, likeliest, strict=True):
        bar.progress(float(probs[i]), text=f"{escaped(label_of(trace, i))} · {probs[i]:.1%}")


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
