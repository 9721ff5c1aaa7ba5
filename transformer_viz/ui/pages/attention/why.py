"""Why the model answers what it does: the words in the colour of what each does to the answer."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.why import measured_text, tinted, why_text
from transformer_viz.questions.effects.removed import removed
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.text.unicode import visible
from transformer_viz.ui.shell.address import choose_named, choose_whether, to_address
from transformer_viz.ui.shell.answers import effects
from transformer_viz.ui.shell.changing import act
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.projector import is_projected
from transformer_viz.values.comparison import Comparison
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.likeliest import is_whole
from transformer_viz.values.request import Request
from transformer_viz.values.special import PAD
from transformer_viz.values.trace import Trace

ASKED = ("about", "rather", "at")
"""URL keys of the answer, of the one it is compared with, and of the position."""

ASKED_MODEL = "asked-model"
"""Session key of the model of which they are asked."""

TINTED = "tinted"
"""Session key of the word that is pressed."""

FEWEST = 2
"""Fewest labels of which one can be chosen."""

MOST_OFFERED = 12
"""Most labels that are offered, the likeliest."""

MOST_CELLS = 10_000_000
"""Most attention weights of a text that is explained: each takes 16 bytes while they are differentiated."""


class Asked(NamedTuple):
    """Which answer is explained, as in `EffectsRequest`; None: as there."""

    answer: str | int | None = None
    versus: str | None = None
    position: int | None = None


AS_USUAL = Asked()


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


def ask_about(config: TransformerConfig, trace: Trace) -> Asked:
    """Show what chooses the answer that is explained, and the one it is compared with; return both.

    Tokens are offered where one place is asked about, the likeliest there, and any other can be typed.
    """
    if len(trace.labels) < FEWEST:
        return Asked()
    if st.session_state.setdefault(ASKED_MODEL, trace.model) != trace.model:
        for key in ASKED:
            st.session_state.pop(key, None)
            to_address(key, None)
    st.session_state[ASKED_MODEL] = trace.model
    with st.popover(t("why.about"), type="tertiary", help=t("why.about.help"), key="about-answer"):
        position = _choose_position(config, trace)
        row = row_of(config, trace, position)
        if row is None:
            return Asked(position=position)
        probs = trace.probs if trace.probs.ndim == 1 else trace.probs[row]
        likeliest = np.argsort(-probs)[:MOST_OFFERED].tolist()
        named = {trace.labels[label]: f"{label_of(trace, label)} · {probs[label]:.1%}" for label in likeliest}
        stands_there = position is not None and not config.fills_in
        usual = t(f"why.answer.{'there' if stands_there else 'usual'}")
        answer = choose_named("about", named, t("why.answer"), usual, typed=config.predicts_tokens)
        usual = t("why.versus.usual")
        versus = choose_named("rather", named, t("why.versus"), usual, typed=config.predicts_tokens)
    return Asked(answer, versus, position)


def _choose_position(config, trace):
    """Show the menu of the tokens that can be asked about, if there are several; None: as usual."""
    places = places_of(config, trace)
    if not places:
        return None
    named = {str(place): f"{place} · {visible(token)}" for place, token in places.items()}
    usual = "gaps" if config.fills_in else "target" if trace.encoder else "next"
    chosen = choose_named("at", named, t("why.position"), t(f"why.position.{usual}"))
    return None if chosen is None else int(chosen)


def places_of(config: TransformerConfig, trace: Trace) -> dict[int, str]:
    """Return position -> token of those that an answer of tokens can be asked about; none of a class."""
    if not config.predicts_tokens:
        return {}
    tokens = trace.target_tokens if trace.encoder and trace.decoder else trace.tokens
    if config.fills_in:
        return {place: tokens[place] for place in trace.gaps} if len(trace.gaps) > 1 else {}
    return {place: token for place, token in enumerate(tokens) if place and token != PAD}


def row_of(config: TransformerConfig, trace: Trace, position: int | None) -> int | None:
    """Return the row of the probabilities that answers; None: several do."""
    if not config.predicts_tokens:
        return 0
    if position is not None:
        return position if config.fills_in else position - 1
    if config.fills_in:
        return int(trace.gaps[0]) if len(trace.gaps) == 1 else None
    return None if trace.encoder else int(np.flatnonzero(trace.read)[-1])


def show_why(place: DeltaGenerator, trace: Trace, asked: EffectsRequest) -> Effects | None:
    """Show the words and the sentence with the strongest, once they are measured; return the effects.

    Args:
        place: Where they stand; it is filled after the picture, which does not wait for them.
        trace: The answer.
        asked: The request for its effects.
    """
    with place:
        found = effects(asked)
        if found is None:
            return None
        sides = [("text", trace.text)]
        if trace.encoder and trace.decoder:
            sides.append(("target", trace.target_text))
        lines = "".join(
            tinted(words(), found, text, _unit(found), side, pressed=side == "text") for side, text in sides
        )
        st.html(f'<div class="large">{lines}</div>' if is_projected() else lines)
        st.markdown(why_text(words(), found, answer_named(trace, found), escaped))
    _listen(trace, found)
    return found


def show_both(
    places: tuple[DeltaGenerator, DeltaGenerator],
    comparison: Comparison,
    before: Request,
    request: Request,
    about: Asked,
) -> tuple[Effects, Effects] | None:
    """Show the words of two runs and the strongest of each, of what A answers; return the effects in both.

    Models with other labels are each asked about their own answer.

    Args:
        places: Where those of A stand, in place of its text and answer, and those of B.
        comparison: The two runs.
        before: The request of A.
        request: The request of B.
        about: The answer that is explained.
    """
    a, b = comparison.a, comparison.b
    with places[1]:
        one = effects(EffectsRequest(before, *about))
        if one is None:
            return None
        _show_side(places[0].container(), "A", one, a)
        theirs = about if a.labels == b.labels else AS_USUAL
        if a.labels == b.labels and len(one.answer.labels) == 1:
            theirs = theirs._replace(answer=one.answer.labels[0])
        other = effects(EffectsRequest(request, *theirs))
        if other is None:
            return None
        _show_side(places[1], "B", other, b, pressed=True)
    _listen(b, other)
    return one, other


def _show_side(place, name, found, trace, *, pressed=False):
    """Show the words of one of two runs, with the strongest beside them."""
    with place, st.container(horizontal=True, vertical_alignment="center"):
        lines = tinted(words(), found, trace.text, _unit(found), pressed=pressed)
        st.html(f'<div class="compared"><b class="side">{name}</b>{lines}</div>', width="content")
        st.markdown(why_text(words(), found, answer_named(trace, found), escaped), width="content")


def _unit(found):
    """Return what the values of the words are."""
    return t("why.unit" if found.stand_in else "why.unit_deleted", token=found.stand_in)


def _listen(trace, found):
    component("tinted")(data=None, key=TINTED, on_pressed_change=lambda: _leave_out(trace, found))


def _leave_out(trace, found):
    """Compare with the run without the pressed word: with what stands for it, or deleted if nothing can."""
    row = found.words.iloc[st.session_state[TINTED].pressed]
    start, end = row["start"], row["end"]
    if not found.stand_in:
        act({"do": "text", "text": f"{trace.text[:start]}{trace.text[end:]}".replace("  ", " ").strip()})
        return
    offsets = enumerate(sorted(trace.offsets))  # sorted, if the tokens are read in another order
    act({"do": "leave_out", "tokens": [place for place, (a, b) in offsets if start <= a < b <= end]})


def show_measured(
    before: Request,
    request: Request,
    config: TransformerConfig,
    comparison: Comparison,
    about: Asked,
) -> None:
    """Show what an answer loses without the one head or cell that is taken away, and what was estimated.

    Nothing is shown if more has changed, or the model answers after another target.

    Args:
        before: The request of A.
        request: The request of B.
        config: Config of the model.
        comparison: Their answers.
        about: The answer that is explained.
    """
    gone, (a, b) = removed(config, before, request), (comparison.a, comparison.b)
    if gone is None or not asks_why(config, a) or not is_whole(b) or a.target_tokens != b.target_tokens:
        return
    found = effects(EffectsRequest(before, *about))
    if found is None:
        return
    after = found.answer.certainty(found.answer.logits(config, b.logits), config.temperature)
    measured = found.certainty.log_odds - after.log_odds
    answer = escaped(answer_named(a, found))
    st.caption(measured_text(words(), gone, answer, measured, found.of(*gone)))


def answer_named(trace: Trace, found: Effects) -> str:
    """Return the name of an answer: a class, the tokens, or the target text; of A rather than B both."""
    several = trace.encoder and trace.decoder and len(found.answer.labels) > 1
    labels = (label_of(trace, label) for label in found.answer.labels)
    name = visible(trace.target_text) if several else t("list.comma").join(labels)
    if found.answer.versus is None:
        return name
    return t("why.rather", answer=name, versus=label_of(trace, found.answer.versus))
