"""The effect of a mask in sentences: on the attention weights and on the prediction."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.analysis import blocked_rows, future_share, padding_share
from transformer_viz.pictures.labels import label_of, shown_tokens, written_text
from transformer_viz.ui.pages.masks.sides import Head, Side, writings
from transformer_viz.ui.shell.bars import show_bars
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.problems import error_text
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.no_answer import why_no_answer

MAX_BARS = 4
"""Maximum number of labels with probability bars."""

MIN_PROBABILITY = 0.005
"""Minimum probability of a label with bars, apart from the first two."""

MIN_SHARE = 0.0005
"""Smallest share that does not round to 0.0%."""

MIN_CHANGE = 0.001
"""Smallest change of a probability that is shown."""


def shares_of_weight(chosen: Head, other: Head) -> list[str]:
    """Return sentences on a head's weight on padding and on later keys, and on fully masked rows."""
    other_mask = t(f"masks.name_{other.name}")
    shares = {
        "padding": [
            padding_share(side.weights, side.row_padding, side.column_padding) for side in (chosen, other)
        ],
        "future": [future_share(side.weights[~chosen.row_padding]) for side in (chosen, other)],
    }
    if not chosen.same_tokens:
        del shares["future"]
    meters = [
        t(f"masks.meter_{name}", **percent(both), other_mask=other_mask)
        for name, both in shares.items()
        if max(both) >= MIN_SHARE
    ]
    blocked = [len(blocked_rows(side.mask, side.mask.shape)) for side in (chosen, other)]
    if any(blocked):
        counts = {"count": blocked[0], "other": blocked[1], "total": len(chosen.rows)}
        meters.append(t("masks.meter_blocked", **counts, other_mask=other_mask))
    return meters


def show_meters(meters: list[str]) -> None:
    """Show the sentences of `shares_of_weight`."""
    st.markdown(f"**{t('masks.meters_title')}**", help=t("masks.meters_help"))
    for meter in meters:
        st.markdown(meter)


def percent(shares: Sequence[float]) -> dict[str, str]:
    """Return both shares as percentages."""
    return {"share": f"{shares[0]:.1%}", "other": f"{shares[1]:.1%}"}


def show_prediction(model: store.ModelSummary, chosen: Side, other: Side) -> None:
    """Show how the prediction changes, with the probabilities before and after."""
    st.markdown(f"**{t('masks.prediction_title')}**", help=t("masks.prediction_help"))
    if chosen.equals(other):
        st.markdown(t("masks.hides_nothing"))
        return
    if not chosen.trace.labels:
        st.caption(error_text(why_no_answer(model.card)))
        return
    trace, before = chosen.trace, other.trace.probs
    after = trace.probs
    if after.ndim == 1:
        rows = [np.abs(before - after)]
    else:  # one after the other: a whole matrix of a large vocabulary has 80 MB
        rows = (np.abs(before[row] - after[row]) for row in np.flatnonzero(trace.read))
    largest, sums = np.array([(row.max(), row.sum()) for row in rows]).T
    if largest.max() < MIN_CHANGE:
        st.markdown(t("masks.prediction_same"))
        return
    if after.ndim == 2:
        before, after = most_changed(chosen, before, after, sums)
    else:
        show_label_change(trace.labels, before, after)
    highest = np.maximum(before, after)
    likeliest = np.argsort(-highest, kind="stable")[:MAX_BARS]
    likeliest = likeliest[(highest[likeliest] > MIN_PROBABILITY) | (np.arange(len(likeliest)) < 2)]
    show_bars(
        [label_of(trace, i) for i in likeliest],
        before[likeliest],
        after[likeliest],
        labels={"before": t(f"masks.name_{other.name}"), "after": t(f"masks.name_{chosen.name}")},
        alt=t("masks.bars_alt"),
        key="before-after",
    )


def show_writing(sides: tuple[Side, Side], config: TransformerConfig) -> None:
    """Show what an encoder-decoder writes with each of the two masks."""
    if sides[0].equals(sides[1]):
        return
    found = writings(sides, config)
    if found is None:
        return
    text, other = (escaped(written_text(trace)) for trace in found)
    if text == other:
        st.markdown(t("masks.writes_same", text=text))
        return
    mask, other_mask = (t(f"masks.name_{side.name}") for side in sides)
    st.markdown(t("masks.writes", text=text, mask=mask, other=other, other_mask=other_mask))


def show_label_change(labels: Sequence[str], before: np.ndarray, after: np.ndarray) -> None:
    """Show the predicted class before and after."""
    old, new = int(before.argmax()), int(after.argmax())
    values = {"old": escaped(labels[old]), "new": escaped(labels[new])}
    key = "stays" if old == new else "flips"
    st.markdown(
        t(f"masks.prediction_{key}", **values, before=f"{before[old]:.1%}", after=f"{after[new]:.1%}")
    )


def most_changed(
    chosen: Side, before: np.ndarray, after: np.ndarray, sums: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Show how many predicted tokens change; return the probabilities at the position that changed most.

    Args:
        chosen: The run with the chosen mask.
        before: float (position, label).
        after: float (position, label).
        sums: float (position,), the sum of all changes at each position but [PAD].

    Returns:
        float (label,) before and after, at the position with the largest change; if predicted tokens change
        anywhere, among those positions.
    """
    trace = chosen.trace
    tokens = trace.target_tokens if trace.encoder and trace.decoder else trace.tokens
    real = np.flatnonzero(trace.read)
    differs = (before.argmax(axis=-1) != after.argmax(axis=-1))[real]
    position = real[np.where(differs | ~differs.any(), sums, -1).argmax()]
    one, other = before[position], after[position]
    old, new = int(one.argmax()), int(other.argmax())
    st.markdown(
        t(
            f"masks.{'writing' if trace.decoder else 'filling'}_{'changes' if differs.any() else 'stays'}",
            count=int(differs.sum()),
            total=len(real),
            old=escaped(label_of(trace, old)),
            token=escaped(shown_tokens(tokens)[position]),
            new=escaped(label_of(trace, new)),
            before=f"{one[old]:.1%}",
            after=f"{other[new]:.1%}",
        )
    )
    return one, other
