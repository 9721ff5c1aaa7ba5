"""What a masked language model fills in: a press hides a token, fills one in, or brings one back."""

import functools

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.analysis import word_of_token
from transformer_viz.pictures.cloze import cloze_of
from transformer_viz.text.foreign import tokenizer_of
from transformer_viz.text.gaps import ChangedText, filled
from transformer_viz.text.tokenizer import clean_text
from transformer_viz.text.unicode import visible
from transformer_viz.ui.pages.attention.prediction import offer_labels
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.values.trace import Trace

MAX_GAPS = 8
"""Maximum number of [MASK] with predictions; the page says if there are more."""

CLOZE, CHANGED = "cloze", "changed"
"""Session keys: the component with the tokens of the text, and the `ChangedText`."""


def show_filling(model: store.ModelSummary, trace: Trace, answer: DeltaGenerator) -> None:
    """Show the tokens of the text, which a press hides, and the predictions for each [MASK].

    Args:
        model: The model.
        trace: The trace of the text.
        answer: Place of the predictions if there is a single [MASK]; those of several stand below the tokens.
    """
    changed, mask = _changed(), _tokenizer(model.reference).mask
    component("cloze", "cloze")(
        data=cloze_of(words(), trace, changed, mask), key=CLOZE, on_pressed_change=lambda: _press(mask)
    )
    if len(trace.gaps) == 1:
        with answer:
            _show_gap(model, trace, changed, trace.gaps[0])
        return
    st.caption(t("filling.label", mask=escaped(mask)))
    for place in trace.gaps[:MAX_GAPS]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _show_gap(model, trace, changed, place)
    if len(trace.gaps) > MAX_GAPS:
        st.caption(t("filling.first", shown=MAX_GAPS, count=len(trace.gaps), mask=escaped(mask)))


def _show_gap(model, trace, changed, place):
    """Show the likeliest tokens at a [MASK] as buttons that fill it in, and one for the original."""
    probs, (begin, end) = trace.probs[place], trace.offsets[place]
    numbers = word_of_token(trace.text, trace.offsets)
    first, last = np.flatnonzero(abs(numbers - numbers[place]) <= 1)[[0, -1]]
    before, after = trace.text[trace.offsets[first][0] : begin], trace.text[end : trace.offsets[last][1]]
    mask = trace.tokens[place]
    around = visible(before) + mask + visible(after)
    st.markdown(f"“{escaped(around)}”", width="content")
    offer_labels(
        trace,
        probs,
        key=f"fill-{place}",
        on_click=_fill,
        args=(model.reference, changed, begin),
        icon=":material/edit:",
        help=t("filling.fill", mask=escaped(mask)),
    )
    change = changed.change_at(begin, end)
    if change is not None:
        restored = changed.restored(change)
        original = _token_at(model, trace, restored.text, place)
        word = escaped(visible(change.original.strip()))
        st.button(
            word if original is None else f"{word} · {probs[original]:.1%}",
            key=f"restore-{place}",
            on_click=_write,
            args=(changed, restored),
            icon=":material/undo:",
            help=t("filling.restore", word=word),
        )


def _token_at(model, trace, text, place):
    """Return the id of the token in place of a [MASK] in another text; None: unknown, or several."""
    config, tokenizer = config_of(model), _tokenizer(model.reference)
    options = {"truncation": config.truncation, "start": config.reads_start}
    ids = tokenizer.encode(text, max_len=config.max_len, **options).ids
    is_one = len(ids) == len(trace.token_ids) and [*np.flatnonzero(ids != trace.token_ids)] == [place]
    return ids[place] if is_one and ids[place] != config.unk_id else None


def _tokenizer(reference):
    return _kept_tokenizer(reference, store.stamp(reference))


@functools.lru_cache(maxsize=2)
def _kept_tokenizer(reference, _stamp):
    """Return the tokenizer of a model; a rewritten model has another stamp."""
    return tokenizer_of(store.read_config(reference), store.read_tokenizer(reference))


def _changed():
    """Return the text in the box, with the originals of its changes unless it was typed in since."""
    text, changed = clean_text(st.session_state.sentence), st.session_state.get(CHANGED)
    return changed if changed is not None and changed.text == text else ChangedText(text)


def _press(mask):
    """Hide the token that was pressed, or bring back what stood in place of a [MASK]."""
    pressed, changed = st.session_state[CLOZE].pressed, _changed()
    begin, end = pressed["place"]
    change = changed.change_at(begin, end)
    if not changed.text.startswith(pressed["text"]):  # typed in since it was drawn
        return
    if changed.text[begin:end] != mask:
        _write(changed, changed.replaced(begin, end, mask))
    elif change is not None:
        _write(changed, changed.restored(change))


def _fill(reference, changed, begin, token):
    _write(changed, filled(_tokenizer(reference), changed, begin, token))


def _write(shown, wanted):
    """Write a text into the box, unless it was typed in since the text that was pressed on."""
    if _changed() == shown:
        st.session_state.sentence, st.session_state[CHANGED] = wanted.text, wanted
