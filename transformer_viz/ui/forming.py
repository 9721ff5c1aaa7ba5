"""The heads of a model in training: as they are now, or, of a run that is over, as they formed."""

import numpy as np
import streamlit as st

from transformer_viz.analysis import entropy
from transformer_viz.figures import heads_grid, time_lapse
from transformer_viz.runs import stamp_of
from transformer_viz.trace import Trace
from transformer_viz.ui.card import figure_name
from transformer_viz.ui.language import sendable, t

AT_WORK = ("queued", "running")

MOST_FRAMES = 48
"""Pictures that a time-lapse plays; of more, every n-th."""


def choose_heads(run):
    """Show the choice of a probe, an attention and a layer, and return it."""
    firsts = first_pictures(run)
    probes = {number: picture.text for number, picture in firsts.items()}
    trace = firsts[min(firsts)]
    kinds = trace.kinds()
    running = run.status in AT_WORK
    st.subheader(t("run.forming" if running else "run.lapse"), anchor=False, help=t("run.lapse.help"))
    with st.container(horizontal=True, gap="medium"):
        probe = st.selectbox(
            t("run.probe"),
            list(probes),
            format_func=lambda number: shortened(probes[number]),
            key=f"probe-{run.id}",
            width=340,
        )
        kind = "cross" if "cross" in kinds else next(iter(kinds))
        if len(kinds) > 1:
            kind = st.segmented_control(
                t("kind.label"),
                list(kinds),
                default=kind,
                format_func=lambda name: t(f"kind.{name}"),
                key=f"kind-{run.id}",
                required=True,
            )
        layers = list(range(1, len(kinds[kind].layers) + 1))
        layer = layers[-1]
        if len(layers) > 1:
            layer = st.segmented_control(
                t("layer.label"), layers, default=layer, key=f"layer-{run.id}-{kind}", required=True
            )
    return probe, kind, layer - 1


def show_heads(run, status, probe, kind, layer) -> None:
    """Show the heads of a layer: as they are now, or, of a run that is over, as they formed."""
    at_work = status in AT_WORK
    frames = [(step, path) for step, number, path in run.frames() if number == probe]
    frames = frames[-1:] if at_work else frames[:: -(-len(frames) // MOST_FRAMES)][:-1] + frames[-1:]
    found = [(step, picture) for step, path in frames if (picture := attention_of(read(path), kind, layer))]
    pictures = [(step, picture) for step, picture in found if picture[0].shape == found[-1][1][0].shape]
    if left_out := len(frames) - len(pictures):
        st.caption(t("run.pictures.damaged", count=left_out))
    if not pictures:
        return
    words = {
        name: t(f"lapse.{name}") for name in ("head", "weight", "reads", "step", "entropy", "play", "pause")
    }
    theme = st.context.theme.type or "light"
    weights, queries, keys = pictures[-1][1]
    if at_work:
        st.plotly_chart(
            heads_grid(weights, queries, keys, labels=words, theme=theme),
            key="forming",
            config={"displaylogo": False},
        )
        return
    weights = np.stack([weights for _, (weights, _, _) in pictures])
    figure, epochs = run.job.figure, run.state().epochs
    good = [epoch["step"] for epoch in epochs], [epoch.get(f"val_{figure}") for epoch in epochs]
    st.plotly_chart(
        time_lapse(
            weights,
            [step for step, _ in pictures],
            queries,
            keys,
            entropies=entropy(weights),
            figure=good,
            labels=words | {"figure": figure_name(figure)},
            theme=theme,
        ),
        key="lapse",
        config={"displaylogo": False},
    )


def first_pictures(run) -> dict[int, Trace]:
    """Return probe -> the first picture of it that can be read."""
    found = {}
    for _, probe, path in run.frames():
        if probe not in found and (picture := read(path)):
            found[probe] = picture
    return dict(sorted(found.items()))


def attention_of(trace, kind, layer):
    """Return the weights (head, query, key) of a layer in a picture, and the tokens of both sides, if any."""
    found = trace and trace.kinds().get(kind)
    if not found or layer >= len(found.layers):
        return None
    return found.layers[layer].weights, found.query_tokens, found.key_tokens


def read(path) -> Trace | None:
    """Return a picture, None if it is damaged."""
    return read_once(path, stamp_of(path))


@st.cache_resource(max_entries=512, show_spinner=False)
def read_once(path, stamp) -> Trace | None:
    """Return the picture in a file with this stamp, which nobody changes; None if it is damaged."""
    try:
        return Trace.load(path)
    except (ValueError, MemoryError):
        return None


def shortened(text) -> str:
    """Return the beginning of a text, as a page can carry it."""
    text = sendable(text)
    return text if len(text) <= 48 else text[:47] + "…"
