"""What a mask does, in words: where the weight goes, and what becomes of the prediction."""

import numpy as np
import streamlit as st

from transformer_viz.analysis import blocked_rows, future_share, padding_share
from transformer_viz.config import PAD_ID
from transformer_viz.figures import before_after_bars
from transformer_viz.text import visible
from transformer_viz.ui.axis import label_of
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.mask_sides import Head, Side

MAX_BARS = 4
"""Labels whose probabilities are drawn, the likeliest ones."""

LEAST = 0.005
"""Probability below which a label is not drawn, after the first two."""


def show_meters(chosen: Head, other: Head) -> None:
    """Say where the weight of one head goes with both masks."""
    st.markdown(f"**{t('masks.meters_title')}**", help=t("masks.meters_help"))
    names = {"mask": t(f"masks.name_{chosen.name}"), "other_mask": t(f"masks.name_{other.name}")}
    if chosen.column_padding.any():
        shares = [
            padding_share(side.weights, side.row_padding, side.column_padding) for side in (chosen, other)
        ]
        st.markdown(t("masks.meter_padding", **percent(shares), **names))
    else:
        st.markdown(t("masks.meter_no_padding"))
    if chosen.same_tokens:
        shares = [future_share(side.weights[~chosen.row_padding]) for side in (chosen, other)]
        st.markdown(t("masks.meter_future", **percent(shares), **names))
    blocked = [len(blocked_rows(side.mask, side.mask.shape)) for side in (chosen, other)]
    counts = {"count": blocked[0], "other": blocked[1], "total": len(chosen.rows)}
    st.markdown(t("masks.meter_blocked", **counts, **names))


def percent(shares) -> dict[str, str]:
    """Return both shares as they are written."""
    return {"share": f"{shares[0]:.1%}", "other": f"{shares[1]:.1%}"}


def show_prediction(chosen: Side, other: Side) -> None:
    """Say what becomes of the prediction, and draw the probabilities before and after."""
    st.markdown(f"**{t('masks.prediction_title')}**", help=t("masks.prediction_help"))
    if np.array_equal(chosen.mask, other.mask):
        st.markdown(t("masks.hides_nothing"))
        return
    trace, before = chosen.trace, other.trace.probs
    after = trace.probs
    if after.ndim == 2:
        before, after = most_changed(chosen, before, after)
    else:
        say_label(trace.labels, before, after)
    highest = np.maximum(before, after)
    likeliest = np.argsort(-highest, kind="stable")[:MAX_BARS]
    likeliest = likeliest[(highest[likeliest] > LEAST) | (np.arange(len(likeliest)) < 2)]
    figure = before_after_bars(
        [label_of(trace, i) for i in likeliest],
        before[likeliest],
        after[likeliest],
        labels={"before": t(f"masks.name_{other.name}"), "after": t(f"masks.name_{chosen.name}")},
        theme=st.context.theme.type or "light",
    )
    st.plotly_chart(
        figure,
        key="before-after",
        config={"displaylogo": False, "displayModeBar": False},
        alt=t("masks.bars_alt"),
    )


def say_label(labels, before, after) -> None:
    """Say which class the model chooses before and after."""
    old, new = int(before.argmax()), int(after.argmax())
    values = {"old": plain(labels[old]), "new": plain(labels[new])}
    key = "stays" if old == new else "flips"
    st.markdown(
        t(f"masks.prediction_{key}", **values, before=f"{before[old]:.1%}", after=f"{after[new]:.1%}")
    )


def most_changed(chosen, before, after) -> tuple[np.ndarray, np.ndarray]:
    """Say how many next tokens are others; return the probabilities of the place that changed most.

    Args:
        chosen: `Side`.
        before: float (position, label).
        after: float (position, label).

    Returns:
        float (label,) before and after, of the place where they differ most.
    """
    trace = chosen.trace
    ids, tokens = (
        (trace.target_ids, trace.target_tokens) if trace.encoder else (trace.token_ids, trace.tokens)
    )
    real = np.flatnonzero(ids != PAD_ID)
    others = int((before.argmax(axis=-1) != after.argmax(axis=-1))[real].sum())
    place = real[np.abs(before - after).sum(axis=-1)[real].argmax()]
    old, new = int(before[place].argmax()), int(after[place].argmax())
    st.markdown(
        t(
            "masks.writing_changes",
            count=others,
            total=len(real),
            token=plain(visible(tokens[place])),
            old=plain(label_of(trace, old)),
            new=plain(label_of(trace, new)),
            before=f"{before[place, old]:.1%}",
            after=f"{after[place, new]:.1%}",
        )
    )
    return before[place], after[place]
