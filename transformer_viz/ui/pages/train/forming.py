"""The heads of a model in training: as they are now, or, of a run that is over, as they formed."""

import math
import threading
from typing import NamedTuple

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz.analysis import entropy
from transformer_viz.pictures.views import curves_of, heads_forming
from transformer_viz.runs import ACTIVE, file_stamp
from transformer_viz.ui.shell.card import figure_name
from transformer_viz.ui.shell.charts import theme
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import sendable, t
from transformer_viz.ui.shell.matrix import table_words
from transformer_viz.ui.shell.titles import title_of
from transformer_viz.values.trace import Trace

MOST_FRAMES = 48
"""Pictures that a time-lapse plays; of more, every n-th."""

MOST_WEIGHTS = 4_000_000
"""Weights that are sent to a browser at once, one byte each; of a longer text, the first tokens are drawn."""

MAX_PICTURE_BYTES = 64 * 2**20
"""Bytes of cached `Heads`."""

SMALL = 1000
"""Approximate bytes of `Heads` beside the weights."""

MAX_CONTENTS = 5_000
"""Pictures whose `Contents` are cached."""


class Contents(NamedTuple):
    """What is in a picture.

    Attributes:
        text: The text of the probe.
        layers: Kind of attention -> number of its layers.
    """

    text: str
    layers: dict[str, int]


class Heads(NamedTuple):
    """What is drawn of a picture: the heads of one layer.

    Attributes:
        weights: float (head, query, key), of the first tokens.
        queries: Display strings of these tokens, who reads.
        keys: Those who are read.
        entropies: float (head,), over all tokens.
        shape: (head, query, key) of all tokens.
    """

    weights: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    entropies: np.ndarray
    shape: tuple[int, int, int]


def choose_heads(run):
    """Show the choice of a probe, an attention and a layer, and return it."""
    firsts = first_pictures(run)
    probes = {number: picture.text for number, picture in firsts.items()}
    kinds = firsts[min(firsts)].layers
    running = run.status in ACTIVE
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
        layers = list(range(1, kinds[kind] + 1))
        layer = layers[-1]
        if len(layers) > 1:
            layer = st.segmented_control(
                t("layer.label"), layers, default=layer, key=f"layer-{run.id}-{kind}", required=True
            )
    return probe, kind, layer - 1


def show_heads(run, status, probe, kind, layer) -> None:
    """Show the heads of a layer: as they are now, or, of a run that is over, as they formed."""
    at_work = status in ACTIVE
    frames = [(step, path) for step, number, path in run.frames() if number == probe]
    frames = frames[-1:] if at_work else frames[:: -(-len(frames) // MOST_FRAMES)][:-1] + frames[-1:]
    most = math.isqrt(MOST_WEIGHTS // (max(1, len(frames)) * run.job.config.num_heads))
    found = [(step, heads_in(path, file_stamp(path), kind, layer, most)) for step, path in frames]
    found = [(step, heads) for step, heads in found if heads]
    pictures = [(step, heads) for step, heads in found if heads.shape == found[-1][1].shape]
    if left_out := len(frames) - len(pictures):
        st.caption(t("run.pictures.damaged", count=left_out))
    if not pictures:
        return
    last = pictures[-1][1]
    if max(last.shape[1:]) > most:
        st.caption(t("run.pictures.long", count=most))
    words = {name: t(f"lapse.{name}") for name in ("head", "reads", "step", "entropy", "play", "pause")}
    steps = [step for step, _ in pictures]
    curves = [] if at_work else curves_over(run, steps, [heads.entropies for _, heads in pictures], words)
    payload = heads_forming(
        np.stack([heads.weights for _, heads in pictures]),
        steps,
        (last.queries, last.keys),
        labels=words | table_words(),
        pictures=curves,
        name=f"{title_of(run.id).split(' · ')[0]}-layer{layer + 1}-head",
        theme=theme(),
    )
    component("lapse", "panel", "lapse")(data=payload, key="forming")


def curves_over(run, steps, entropies, words) -> list[dict]:
    """Return the curves over the steps of a run that is over."""
    figure, epochs = run.job.metric, run.state().epochs
    good = [epoch["step"] for epoch in epochs], [epoch.get(f"val_{figure}") for epoch in epochs]
    return curves_of(steps, entropies, good, labels=words | {"figure": figure_name(figure)}, theme=theme())


def first_pictures(run) -> dict[int, Contents]:
    """Return probe -> what is in the first picture of it that can be read."""
    found = {}
    for _, probe, path in run.frames():
        if probe not in found and (contents := contents_of(path, file_stamp(path))):
            found[probe] = contents
    return dict(sorted(found.items()))


@cached(LRUCache(MAX_CONTENTS), lock=threading.Lock())
def contents_of(path, stamp) -> Contents | None:
    """Return what is in the picture in a file with this stamp; None if it is damaged."""
    trace = read(path)
    return trace and Contents(trace.text, {kind: len(found.layers) for kind, found in trace.kinds().items()})


@cached(
    LRUCache(MAX_PICTURE_BYTES, getsizeof=lambda heads: SMALL + (heads.weights.nbytes if heads else 0)),
    lock=threading.Lock(),
)
def heads_in(path, stamp, kind, layer, most) -> Heads | None:
    """Return the heads of a layer in the picture in a file with this stamp, of the first tokens at most so
    many; None if it is damaged or has no such layer.
    """
    trace = read(path)
    found = trace and trace.kinds().get(kind)
    if not found or layer >= len(found.layers):
        return None
    weights = found.layers[layer].weights
    shown = weights[:, :most, :most].copy()  # or all of the picture would be kept
    queries, keys = found.query_tokens[:most], found.key_tokens[:most]
    return Heads(shown, queries, keys, entropy(weights), weights.shape)


def read(path) -> Trace | None:
    """Return a picture, None if it is damaged."""
    try:
        return Trace.load(path)
    except (ValueError, MemoryError):
        return None


def shortened(text) -> str:
    """Return the beginning of a text, as a page can carry it."""
    text = sendable(text)
    return text if len(text) <= 48 else text[:47] + "…"
