"""The payload of the attention of any Keras model over the epochs of a training, which a page plays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.language import Problem, Words
from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures import views
from transformer_viz.pictures.arrays import readable_tokens
from transformer_viz.questions.roles.heads import entropy
from transformer_viz.trace.attention_arrays import read_kinds
from transformer_viz.trace.recorded_attention import AttentionByEpoch

MAX_WEIGHTS = 60_000_000
"""Maximum number of weights on a page, one byte each; of more, fewer epochs are shown, at least two."""

METRICS = ("val_loss", "loss")
"""Metrics of an epoch of which the first that is known is drawn."""


class WatchedText(NamedTuple):
    """The tokens of one of the inputs.

    Attributes:
        tokens: Those of a single text, or of the encoder's.
        target_tokens: Those of the decoder's text; None: there is none.
    """

    tokens: Sequence[str]
    target_tokens: Sequence[str] | None


def watched_texts(history: AttentionByEpoch, tokens: Any, target_tokens: Any) -> list[WatchedText]:
    """Return the tokens of each of the inputs.

    Args:
        history: What was recorded.
        tokens: The tokens of the only input, or a list of them for each.
        target_tokens: The same of the decoder's text; None: there is none.

    Raises:
        ValueError: If nothing was recorded, or of another number of inputs.
    """
    if not history.epochs:
        raise Problem("show.history_empty")
    if tokens is None:
        raise Problem("arrays.no_tokens", name="tokens")
    texts = _each_text(tokens)
    targets = [None] * len(texts) if target_tokens is None else _each_text(target_tokens)
    for count in (len(targets), *map(len, history.attention[-1].values())):
        if count != len(texts):
            raise Problem("show.history_texts", count=count, received=len(texts))
    return [WatchedText(*each) for each in zip(texts, targets, strict=True)]


def heads_by_epoch(
    history: AttentionByEpoch, texts: Sequence[WatchedText], words: Words, *, layer: int, name: str
) -> bytes:
    """Return the payload of `epochs.js`.

    Args:
        history: What was recorded.
        texts: As `watched_texts` returns them.
        words: Sentences of the reader's language.
        layer: Number of the layer that is shown first.
        name: Name of saved files, without extension.

    Raises:
        ValueError: If the weights are none, or do not fit the tokens.
    """
    last, arrays, played = history.attention[-1], views.Arrays(), []
    size = sum(weights.size for weights in last.values())
    frames = _spread(len(history.epochs), max(2, MAX_WEIGHTS // size))
    kinds = kinds_of(history, texts[0])
    for number, text in enumerate(texts):
        for place, path in enumerate(last, 1):
            found = [_of_layer(each, path, number, text) for each in history.attention]
            payload = _payload(history, found, frames, words, name=f"{name}-layer{place}-head")
            played.append(arrays.add(np.frombuffer(payload, np.uint8), np.uint8))
    several = len({*kinds}) > 1
    named = [
        " · ".join([str(place), *([words(f"kind.{kind}")] if several else []), path])
        for place, (kind, path) in enumerate(zip(kinds, last, strict=True), 1)
    ]
    shown = [f"{number} · {' '.join(readable_tokens(text.tokens))}" for number, text in enumerate(texts, 1)]
    menus = [
        {"label": words("run.probe"), "names": shown, "start": 0},
        {"label": words("layer.label"), "names": named, "start": layer},
    ]
    return views.packed({"menus": menus, "played": played}, arrays)


def kinds_of(history: AttentionByEpoch, text: WatchedText) -> list[str]:
    """Return the kind of each layer: "encoder", "decoder" or "cross"; of a single text "self"."""
    last = history.attention[-1]
    return [kind for path in last for kind in _kinds(last, path, 0, text)]


def _each_text(tokens):
    """Return the tokens of each text, also if they are those of a single one."""
    if isinstance(tokens, str):
        raise Problem("arrays.text")
    tokens = list(tokens)
    return tokens if tokens and not isinstance(tokens[0], str) else [tokens]


def _spread(count, most):
    """Return the numbers of at most so many frames, spread evenly, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def _kinds(attention, path, number, text):
    weights = attention[path][number : number + 1]
    return read_kinds({path: weights}, text.tokens, target_tokens=text.target_tokens)


def _of_layer(attention, path, number, text) -> Attentions:
    """Return the attention of one layer in one text."""
    [found] = _kinds(attention, path, number, text).values()
    return found


def _payload(history, found, frames, words, *, name):
    """Return the payload of one layer in one text."""
    weights = [each.layers[0].weights for each in found]
    names = ("head", "reads", "play", "pause", "entropy")
    labels = {key: words(f"lapse.{key}", head="{head}") for key in names}
    labels |= {"step": words("lapse.epoch", step="{step}"), "steps": words("lapse.epochs")}
    labels |= {"table": words("lens.table"), "rows": words("lens.table_query")}
    labels |= {"largest": words("matrix.largest")}
    metric = next((each for each in METRICS if each in history.logs[-1]), None)
    measured = [logs.get(metric) for logs in history.logs]
    curves = views.curves_of(
        history.epochs,
        [entropy(each) for each in weights],
        (history.epochs, measured),
        labels=labels | {"metric": metric or ""},
    )
    return views.heads_forming(
        np.stack([weights[frame] for frame in frames]),
        [history.epochs[frame] for frame in frames],
        (readable_tokens(found[-1].query_tokens), readable_tokens(found[-1].key_tokens)),
        labels=labels,
        pictures=curves if metric else curves[:1],
        name=name,
    )
