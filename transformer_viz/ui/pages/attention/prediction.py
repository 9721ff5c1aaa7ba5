"""What the model predicts for a text: a class, or the next token."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.labels import label_of, written_text
from transformer_viz.text.foreign import tokenizer_of
from transformer_viz.ui.shell.card import limits_of
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.values.no_answer import why_no_answer
from transformer_viz.values.special import SPACE, SPECIAL
from transformer_viz.values.trace import Trace

MAX_BARS = 3
"""Maximum number of labels with a probability bar."""

UNDECIDED = 0.1
"""With a smaller difference in probability of the two likeliest labels, neither is said to be predicted."""

BAR_WIDTH = 130
"""Width of a probability bar, in pixels."""

NOT_TYPED = SPECIAL | {SPACE}
"""Tokens that a press cannot put into a text."""

MAX_OFFERED = 4
"""Number of tokens offered as buttons."""


def show_prediction(model: store.ModelSummary, trace: Trace) -> None:
    """Show the prediction, with the probabilities of the likeliest labels, or why there is none."""
    if not trace.labels:
        st.caption(error_text(why_no_answer(model.card)), width="content")
        return
    best = int(trace.probs.argmax())
    likeliest = sorted(np.argsort(-trace.probs)[:MAX_BARS])
    key = "prediction.undecided" if is_undecided(trace.probs) else "prediction.sentence"
    said = t(key, label=escaped(trace.labels[best]))
    st.markdown(said, width="content", help=escaped(limits_of(model.card)) or None)
    for i in likeliest:
        text = f"{escaped(trace.labels[i])} · {trace.probs[i]:.1%}"
        st.progress(float(trace.probs[i]), text=text, width=BAR_WIDTH)


def is_undecided(probs: np.ndarray) -> bool:
    """Return whether the likeliest two labels are about as likely: float (label,)."""
    likeliest = np.sort(probs)[-2:]
    return len(likeliest) == 2 and likeliest[1] - likeliest[0] < UNDECIDED


def show_writing(model: store.ModelSummary, trace: Trace, *, own: bool) -> None:
    """Show the generated target, or the prediction for the next token."""
    probs = trace.answer_probs
    if own and trace.encoder:
        st.markdown(t("writing.sentence", text=escaped(written_text(trace))))
    elif trace.encoder or trace.num_dropped:
        show_tokens(trace, probs, "writing.next")
    else:
        offer_tokens(model, trace, probs)


def offer_tokens(model: store.ModelSummary, trace: Trace, probs: np.ndarray) -> None:
    """Show a button for each of the likeliest next tokens that appends it.

    Args:
        model: The model, a decoder.
        trace: The trace of the whole text.
        probs: float (label,), of the next token.
    """
    st.markdown(t("writing.offer"), width="content")
    offer_labels(
        trace,
        probs,
        key="append",
        on_click=append_token,
        args=(model.reference,),
        help=t("writing.append"),
    )


def offer_labels(
    trace: Trace,
    probs: np.ndarray,
    *,
    key: str,
    on_click: Callable[..., None],
    args: tuple[Any, ...],
    **settings: Any,
) -> None:
    """Show a button with its probability for each of the likeliest tokens; special tokens cannot be pressed.

    Args:
        trace: The trace that names the tokens.
        probs: float (label,).
        key: Beginning of the keys of the buttons.
        on_click: Called with `args` and the token.
        args: First arguments of `on_click`.
        **settings: As `st.button` takes them.
    """
    for number, i in enumerate(np.argsort(-probs)[:MAX_OFFERED]):
        st.button(
            f"{escaped(label_of(trace, i))} · {probs[i]:.1%}",
            key=f"{key}-{number}",
            on_click=on_click,
            args=(*args, trace.labels[i]),
            disabled=trace.labels[i] in NOT_TYPED,
            **settings,
        )


def append_token(reference: str, token: str) -> None:
    """Append a token to the text in the box."""
    tokenizer = tokenizer_of(store.read_config(reference), store.read_tokenizer(reference))
    st.session_state.sentence = tokenizer.append(st.session_state.sentence, token)


def show_tokens(trace: Trace, probs: np.ndarray, key: str) -> None:
    """Show the likeliest token, with the probabilities of the first ones.

    Args:
        trace: The trace that names the labels.
        probs: float (label,).
        key: Key of the sentence.
    """
    likeliest = np.argsort(-probs)[:MAX_BARS]
    best = likeliest[0]
    token = escaped(label_of(trace, best))
    st.markdown(t(key, token=token, percent=f"{probs[best]:.1%}"), width="content")
    for i in likeliest:
        text = f"{escaped(label_of(trace, i))} · {probs[i]:.1%}"
        st.progress(float(probs[i]), text=text, width=BAR_WIDTH)
