"""Attention heads during training: the current ones of a running run, or a time-lapse of an ended one."""

import math
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from transformer_viz.pictures.labels import shown_tokens
from transformer_viz.pictures.views import curves_of, heads_forming
from transformer_viz.questions.roles.heads import entropy
from transformer_viz.trace.trace import Trace
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.log import file_stamp
from transformer_viz.training.runs.state import ACTIVE
from transformer_viz.ui.shell.card import metric_name
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import sendable, t
from transformer_viz.ui.shell.titles import title_of

MAX_FRAMES = 48
"""Maximum number of frames of a time-lapse; of more, every n-th is used."""

MAX_WEIGHTS = 4_000_000
"""Maximum number of weights sent to a browser, one byte each; longer texts are truncated."""

MAX_HEADS_BYTES = 64 * 2**20
"""Memory of cached `Heads`, in bytes."""

OVERHEAD_BYTES = 1000
"""Approximate size of `Heads` without the weights, in bytes."""

MAX_CONTENTS = 5_000
"""Number of frames whose `Contents` are cached."""


class Contents(NamedTuple):
    """Text and size of a frame.

    Attributes:
        text: Text of the probe.
        layers: Kind of attention -> number of layers.
    """

    text: str
    layers: dict[str, int]


class Heads(NamedTuple):
    """The heads of one layer in a frame.

    Attributes:
        weights: float (head, query, key), of the first tokens.
        queries: Display strings of the queries.
        keys: Display strings of the keys.
        entropies: float (head,), over all tokens.
        shape: (head, query, key) of all tokens.
    """

    weights: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    entropies: np.ndarray
    shape: tuple[int, int, int]


def choose_heads(run: TrainingRun) -> tuple[int, str, int]:
    """Show the choice of probe, kind of attention and layer; return them."""
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


def show_heads(run: TrainingRun, status: str, probe: int, kind: str, layer: int) -> None:
    """Show the heads of a layer: the current ones of a running run, or a time-lapse of an ended one."""
    at_work = status in ACTIVE
    frames = [(step, path) for step, number, path in run.frames() if number == probe]
    frames = frames[-1:] if at_work else frames[:: -(-len(frames) // MAX_FRAMES)][:-1] + frames[-1:]
    max_tokens = math.isqrt(MAX_WEIGHTS // (max(1, len(frames)) * run.job.config.num_heads))
    found = [(step, heads_in(path, file_stamp(path), kind, layer, max_tokens)) for step, path in frames]
    found = [(step, heads) for step, heads in found if heads]
    pictures = [(step, heads) for step, heads in found if heads.shape == found[-1][1].shape]
    if left_out := len(frames) - len(pictures):
        st.caption(t("run.pictures.damaged", count=left_out))
    if not pictures:
        return
    last = pictures[-1][1]
    if max(last.shape[1:]) > max_tokens:
        st.caption(t("run.pictures.long", count=max_tokens))
    names = ("head", "reads", "step", "steps", "entropy", "play", "pause")
    words = {name: t(f"lapse.{name}", head="{head}", step="{step}") for name in names}
    steps = [step for step, _ in pictures]
    curves = [] if at_work else curves_over(run, steps, [heads.entropies for _, heads in pictures], words)
    payload = heads_forming(
        np.stack([heads.weights for _, heads in pictures]),
        steps,
        (last.queries, last.keys),
        labels=words
        | {"table": t("lens.table"), "rows": t("lens.table_query"), "largest": t("matrix.largest")},
        pictures=curves,
        name=f"{title_of(run.id).split(' · ')[0]}-layer{layer + 1}-head",
    )
    component("lapse", "panel", "lapse")(data=payload, key="forming")


def curves_over(
    run: TrainingRun, steps: list[int], entropies: list[np.ndarray], words: dict[str, str]
) -> list[dict]:
    """Return the charts over the steps of an ended run."""
    metric, epochs = run.job.drawn_metric, run.state().epochs
    good = [epoch["step"] for epoch in epochs], [epoch.get(f"val_{metric}") for epoch in epochs]
    return curves_of(steps, entropies, good, labels=words | {"metric": metric_name(metric)})


def first_pictures(run: TrainingRun) -> dict[int, Contents]:
    """Return probe -> contents of its first readable frame."""
    found = {}
    for _, probe, path in run.frames():
        if probe not in found and (contents := contents_of(path, file_stamp(path))):
            found[probe] = contents
    return dict(sorted(found.items()))


@cached(LRUCache(MAX_CONTENTS), lock=threading.Lock())
def contents_of(path: Path, stamp: tuple) -> Contents | None:
    """Return the contents of a frame; None if its file is damaged."""
    trace = read(path)
    return trace and Contents(trace.text, {kind: len(found.layers) for kind, found in trace.kinds().items()})


@cached(
    LRUCache(
        MAX_HEADS_BYTES, getsizeof=lambda heads: OVERHEAD_BYTES + (heads.weights.nbytes if heads else 0)
    ),
    lock=threading.Lock(),
)
def heads_in(path: Path, stamp: tuple, kind: str, layer: int, max_tokens: int) -> Heads | None:
    """Return the heads of a layer in a frame, for the first `max_tokens` tokens.

    None if its file is damaged or has no such layer.
    """
    trace = read(path)
    found = trace and trace.kinds().get(kind)
    if not found or layer >= len(found.layers):
        return None
    weights = found.layers[layer].weights
    first = weights[:, :max_tokens, :max_tokens].copy()  # a view would keep the whole frame in memory
    queries, keys = (shown_tokens(tokens)[:max_tokens] for tokens in (found.query_tokens, found.key_tokens))
    return Heads(first, queries, keys, entropy(weights), weights.shape)


def read(path: Path) -> Trace | None:
    """Return the trace of a frame; None if its file is damaged."""
    try:
        return Trace.load(path)
    except (ValueError, MemoryError):
        return None


def shortened(text: str) -> str:
    """Return the beginning of a text without unprintable characters."""
    text = sendable(text)
    return text if len(text) <= 48 else text[:47] + "…"
