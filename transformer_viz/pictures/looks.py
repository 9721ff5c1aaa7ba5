"""Transformations of a trace's attention for display: merge words, drop tokens, aggregate heads."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures.labels import ARROW, GAP
from transformer_viz.text.segmentation import chinese_words
from transformer_viz.text.special import EDGES
from transformer_viz.trace.reshape import (
    merge_words,
    renormalise,
    rollout,
    sentence_of_token,
    word_of_token,
)
from transformer_viz.trace.trace import Trace

LOOKS = ("words", "special", "sink", "mean", "max", "rollout")
"""All transformations, in the order shown to the visitor."""

ONE_HEAD = ("mean", "max", "rollout")
"""Those that aggregate all heads into one; at most one applies at a time."""


class Side(NamedTuple):
    """Tokens of the rows or of the columns of an attention matrix.

    Attributes:
        tokens: Tokens of the model.
        texts: Typed text of each.
        labels: Label of each.
        words: Index of each token's word: int (token,).
        sentences: Index of each token's sentence: int (token,).
        special: Which are [START] or [END]: bool (token,).
    """

    tokens: list[str]
    texts: list[str]
    labels: list[str]
    words: np.ndarray
    sentences: np.ndarray
    special: np.ndarray


class Look(NamedTuple):
    """One kind of attention after the transformations, with its query and key tokens.

    Attributes:
        found: What is shown.
        rows: Its rows.
        columns: Its columns.
        whole: What is said of heads is counted here: every token has its place, those left out are masked and
            without weight, and rows sum to 1 or to 0.
        keys: Labels of the columns of `whole`.
    """

    found: Attentions
    rows: Side
    columns: Side
    whole: Attentions
    keys: list[str]


def is_possible(trace: Trace, look: str) -> bool:
    """Return whether a transformation changes anything in this trace."""
    kinds = trace.kinds()
    if look == "rollout":
        return any(kind != "cross" and len(found.layers) > 1 for kind, found in kinds.items())
    if look in ONE_HEAD:
        return any(len(layer.weights) > 1 for found in kinds.values() for layer in found.layers)
    sides = [side for kind in kinds for side in sides_of(trace, kind, [], [])]
    if look == "words":
        return any(len(side.words) > side.words.max(initial=-1) + 1 for side in sides)
    if look == "special":
        return any(side.special.any() and not side.special.all() for side in sides)
    return all(len(found.key_tokens) > 2 for found in kinds.values())


def sides_of(trace: Trace, kind: str, rows: Sequence[str], columns: Sequence[str]) -> tuple[Side, Side]:
    """Return the query and the key side of an attention, with the given labels."""
    queries_target = kind != "encoder" and bool(trace.encoder)
    source = trace.text, trace.offsets, trace.tokens
    target = trace.target_text, trace.target_offsets, trace.target_tokens
    queries = target if queries_target else source
    keys = source if kind == "cross" else queries
    return _side(*queries, rows), _side(*keys, columns)


def apply_looks(
    trace: Trace, labels: Mapping[str, tuple[Sequence[str], Sequence[str]]], looks: Collection[str]
) -> dict[str, Look]:
    """Return each kind of attention of a trace after some transformations.

    Args:
        trace: The trace to show.
        labels: Kind of attention -> labels of its rows and of its columns.
        looks: Names in `LOOKS`; none: unchanged.
    """
    looked = {}
    for kind, found in trace.kinds().items():
        sides = sides_of(trace, kind, *labels[kind])
        as_it_is = Look(found, *sides, found, sides[1].labels)
        looked[kind] = _look(kind, found, sides, looks) if looks else as_it_is
    return looked


def word_attention(trace: Trace) -> dict[str, Attentions]:
    """Return the attention between words, as the app shows it, for each kind of attention of a trace.

    Attention to the tokens of a word is summed, attention from them is averaged, so that rows still sum to 1
    (Clark et al., 2019, "What Does BERT Look At?", section 4.1). Sub-words that touch at letters or digits
    are one word; Chinese words are those of `chinese_words`. Special tokens stay alone.

    Returns:
        Kind of attention ("encoder", "decoder", "cross") -> its layers, of which only the weights (head,
        query word, key word) are kept, with the words as typed for tokens.
    """
    labels = {kind: (found.query_tokens, found.key_tokens) for kind, found in trace.kinds().items()}
    return {
        kind: look.found._replace(query_tokens=_typed(look.rows), key_tokens=_typed(look.columns))
        for kind, look in apply_looks(trace, labels, ("words",)).items()
    }


def _typed(side):
    return tuple(text or token for text, token in zip(side.texts, side.tokens, strict=True))


def _look(kind, found, sides, looks):
    """Return one kind of attention after some transformations."""
    weights = _one_head(kind, np.stack([layer.weights for layer in found.layers]), looks)
    mask = np.broadcast_to(found.mask, (*found.mask.shape[:2], *weights.shape[-2:]))
    rows, columns = sides
    if "words" in looks:
        weights = merge_words(weights, rows.words, columns.words)
        mask = merge_words(mask, rows.words, columns.words) > 0
        rows, columns = _words(rows), _words(columns)
    labels = columns.labels
    queries, keys = np.ones(len(rows.labels), bool), np.ones(len(labels), bool)
    if "special" in looks:
        queries, keys = queries & ~rows.special, keys & ~columns.special
    if "sink" in looks and keys.sum() > 1:
        keys[(weights.mean(axis=(0, 1, 2)) * keys).argmax()] = False
    stay = queries[:, None] & keys
    if not stay.any():
        stay[:] = True
    is_cut = not stay.all()
    whole = renormalise(weights, stay) if is_cut or "max" in looks else weights
    everything = _attentions(whole, mask & stay, rows, columns)
    if is_cut:
        rows, columns = _kept(rows, queries), _kept(columns, keys)
        weights, mask = (each[..., queries, :][..., keys] for each in (whole, mask))
    return Look(_attentions(weights, mask, rows, columns), rows, columns, everything, labels)


def _attentions(weights, mask, rows, columns):
    layers = [AttentionTrace(None, None, None, None, layer, None, None) for layer in weights]
    return Attentions(layers, mask, tuple(rows.tokens), tuple(columns.tokens))


def _one_head(kind, weights, looks):
    """Return the weights (layer, head, query, key), with the heads aggregated if requested."""
    if "rollout" in looks and kind != "cross":
        return rollout(weights)[:, None]
    if "mean" in looks:
        return weights.mean(axis=1, keepdims=True)
    return weights.max(axis=1, keepdims=True) if "max" in looks else weights


def _side(text, offsets, tokens, labels):
    special = np.array([token in EDGES for token in tokens], bool)
    words = word_of_token(text, offsets, chinese_words(text))
    sentences = sentence_of_token(text, offsets)
    texts = [text[start:end] for start, end in offsets]
    return Side(list(tokens), texts, list(labels), words, sentences, special)


def _words(side):
    """Merge the tokens of a side into words; gap marks and predictions in the labels are kept."""
    words = [np.flatnonzero(side.words == word) for word in range(side.words.max(initial=-1) + 1)]
    texts = ["".join(side.texts[i] for i in pieces) for pieces in words]
    labels = []
    for pieces, text in zip(words, texts, strict=True):
        first, last = side.labels[pieces[0]], side.labels[pieces[-1]]
        before = f"{GAP} " if first.startswith(GAP) else ""
        _, arrow, after = last.partition(ARROW)
        labels.append(first if len(pieces) == 1 else before + text + arrow + after)
    first = np.array([pieces[0] for pieces in words], int)
    special = np.array([side.special[pieces].all() for pieces in words], bool)
    tokens = [
        side.tokens[pieces[0]] if len(pieces) == 1 else text
        for pieces, text in zip(words, texts, strict=True)
    ]
    return Side(tokens, texts, labels, np.arange(len(words)), side.sentences[first], special)


def _kept(side, where):
    stay = np.flatnonzero(where)
    tokens, texts, labels = ([each[i] for i in stay] for each in (side.tokens, side.texts, side.labels))
    return Side(tokens, texts, labels, side.words[where], side.sentences[where], side.special[where])
