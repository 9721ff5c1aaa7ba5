"""Why the model answers what it does: the words in the colour of what each does to the answer."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.why import measured_text, tinted, why_text
from transformer_viz.questions.effects.removed import removed
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.text.tokenizer import visible
from transformer_viz.ui.shell.address import choose_whether
from transformer_viz.ui.shell.answers import effects
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.projector import is_projected
from transformer_viz.values.comparison import Comparison
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.likeliest import is_whole
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

MOST_CELLS = 10_000_000
"""Most attention weights of a text that is explained: each takes 16 bytes while they are differentiated."""


def ask_why(config: TransformerConfig, trace: Trace, place: DeltaGenerator, *, usual: bool) -> bool:
    """Show the switch that asks why, if there is an answer; return whether that is asked, and can be told.

    Args:
        config: Config of the model.
        trace: The answer.
        place: Where the reason stands if it cannot.
        usual: Whether it is on by default.
    """
    if not asks_why(config, trace):
        return False
    if not choose_whether("why", t("why.label"), usual=usual, help=t("why.help")):
        return False
    cells = sum(layer.weights.size for found in trace.kinds().values() for layer in found.layers)
    if cells > MOST_CELLS:
        place.caption(t("why.too_long", most=f"{MOST_CELLS:,}", count=f"{cells:,}"))
    return cells <= MOST_CELLS


def asks_why(config: TransformerConfig, trace: Trace) -> bool:
    """Return whether there is an answer: a masked language model has none whose text hides nothing."""
    return bool(trace.labels) and not (config.fills_in and not len(trace.gaps))


def show_why(place: DeltaGenerator, trace: Trace, request: Request) -> Effects | None:
    """Show the words and the sentence with the strongest, once they are measured; return the effects.

    Args:
        place: Where they stand; it is filled after the picture, which does not wait for them.
        trace: The answer to the request.
        request: The request.
    """
    with place:
        found = effects(EffectsRequest(request))
        if found is None:
            return None
        sides = [("text", trace.text)]
        if trace.encoder and trace.decoder:
            sides.append(("target", trace.target_text))
        unit = "why.unit" if found.stand_in else "why.unit_deleted"
        unit = t(unit, token=found.stand_in)
        lines = "".join(tinted(words(), found, text, unit, side) for side, text in sides)
        st.html(f'<div class="large">{lines}</div>' if is_projected() else lines)
        st.markdown(why_text(words(), found, answer_named(trace, found), escaped))
    return found


def show_measured(
    before: Request, request: Request, config: TransformerConfig, comparison: Comparison
) -> None:
    """Show what an answer loses without the one head or cell that is taken away, and what was estimated.

    Nothing is shown if more has changed, or the model answers after another target.

    Args:
        before: The request of A.
        request: The request of B.
        config: Config of the model.
        comparison: Their answers.
    """
    gone, (a, b) = removed(config, before, request), (comparison.a, comparison.b)
    if gone is None or not asks_why(config, a) or not is_whole(b) or a.target_tokens != b.target_tokens:
        return
    found = effects(EffectsRequest(before))
    if found is None:
        return
    after = found.answer.certainty(found.answer.logits(config, b.logits), config.temperature)
    measured = found.certainty.log_odds - after.log_odds
    answer = escaped(answer_named(a, found))
    st.caption(measured_text(words(), gone, answer, measured, found.of(*gone)))


def answer_named(trace: Trace, found: Effects) -> str:
    """Return the name of an answer: a class, the tokens, or the target text, shortened if it is long."""
    if trace.encoder and trace.decoder:
        return visible(trace.target_text)
    return t("list.comma").join(label_of(trace, label) for label in found.answer.labels)
