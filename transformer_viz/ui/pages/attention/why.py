"""Why the model answers what it does: the words in the colour of what each does to the answer."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.why import tinted, why_text
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.ui.shell.address import choose_whether
from transformer_viz.ui.shell.answers import effects
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace


def ask_why(config: TransformerConfig, trace: Trace) -> bool:
    """Show the switch that asks why; return whether it is on.

    It is not offered without an answer, or to a masked language model whose text hides nothing.
    """
    if not trace.labels or (config.fills_in and not len(trace.gaps)):
        return False
    return choose_whether("why", t("why.label"), help=t("why.help"))


def show_why(place: DeltaGenerator, trace: Trace, request: Request) -> None:
    """Show the words and the sentence with the strongest, once they are measured.

    Args:
        place: Where they stand; it is filled after the picture, which does not wait for them.
        trace: The answer to the request.
        request: The request.
    """
    with place:
        found = effects(EffectsRequest(request))
        if found is None:
            return
        st.markdown(why_text(words(), found, answer_named(trace, found), escaped))
        sides = [("text", trace.text)]
        if trace.encoder and trace.decoder:
            sides.append(("target", trace.target_text))
        st.html("".join(tinted(words(), found, text, side) for side, text in sides))
        unit = "why.unit" if found.stand_in else "why.unit_deleted"
        st.caption(t(unit, token=escaped(found.stand_in)))


def answer_named(trace: Trace, found: Effects) -> str:
    """Return the name of an answer: a class, the tokens, or the whole target."""
    if trace.encoder and trace.decoder:
        return t("why.target")
    return t("list.comma").join(label_of(trace, label) for label in found.answer.labels)
