"""Ways to look at the attention of a trace: words, fewer tokens, one picture for all heads."""

from typing import NamedTuple

import numpy as np

from transformer_viz.analysis import merge_words, renormalise, rollout, sentence_of_token, word_of_token
from transformer_viz.pictures.labels import ARROW, GAP
from transformer_viz.text.tokenizer import END, START
from transformer_viz.values.trace import Attentions, AttentionTrace, Trace

LOOKS = ("words", "special", "sink", "mean", "max", "rollout")
"""All there are, in the order in which they are offered."""

ONE_HEAD = ("mean", "max", "rollout")
"""Those that leave one picture of all heads: at most one of them at a time."""


class Side(NamedTuple):
    """Tokens of one side of an attention.

    Attributes:
        tokens: As the model has them.
        texts: What was typed for each.
        labels: What stands beside each.
        words: Number of the word each is of: int (token,).
        sentences: Number of its sentence: int (token,).
        special: Which are no words of the text: bool (token,).
    """

    tokens: list[str]
    texts: list[str]
    labels: list[str]
    words: np.ndarray
    sentences: np.ndarray
    special: np.ndarray


class Look(NamedTuple):
    """One kind of attention as it is looked at, with who reads and who is read."""

    found: Attentions
    rows: Side
    columns: Side


def is_possible(trace: Trace, look: str) -> bool:
    """Return whether a way of looking makes a difference to this trace."""
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


def sides_of(trace: Trace, kind: str, rows, columns) -> tuple[Side, Side]:
    """Return who reads and who is read, with the texts that stand beside them."""
    writes = kind != "encoder" and bool(trace.encoder)
    source = trace.text, trace.offsets, trace.tokens
    target = trace.target_text, trace.target_offsets, trace.target_tokens
    reading, read = target if writes else source, target if kind == "decoder" and writes else source
    return _side(*reading, rows), _side(*read, columns)


def apply_looks(trace: Trace, tokens, looks) -> dict[str, Look]:
    """Return each kind of attention of a trace, looked at in some ways.

    Args:
        trace: What is shown.
        tokens: Kind of attention -> texts of its rows and of its columns.
        looks: Names out of `LOOKS`; none: as it is.
    """
    seen = {}
    for kind, found in trace.kinds().items():
        sides = sides_of(trace, kind, *tokens[kind])
        seen[kind] = _look(kind, found, sides, looks) if looks else Look(found, *sides)
    return seen


def _look(kind, found, sides, looks):
    """Return one kind of attention looked at in some ways."""
    weights = _one_head(kind, np.stack([layer.weights for layer in found.layers]), looks)
    mask, (rows, columns) = np.broadcast_to(found.mask, (len(found.mask), *weights.shape[-2:])), sides
    if "words" in looks:
        weights = merge_words(weights, rows.words, columns.words)
        mask = merge_words(mask, rows.words, columns.words) > 0
        rows, columns = _words(rows), _words(columns)
    queries, keys = np.ones(len(rows.labels), bool), np.ones(len(columns.labels), bool)
    if "special" in looks:
        queries, keys = queries & ~rows.special, keys & ~columns.special
    if "sink" in looks and keys.sum() > 1:
        keys[(weights.mean(axis=(0, 1, 2)) * keys).argmax()] = False
    if not (queries.all() and keys.all()) and queries.any() and keys.any():
        weights, mask = renormalise(weights, queries, keys), mask[:, queries][:, :, keys]
        rows, columns = _kept(rows, queries), _kept(columns, keys)
    layers = [AttentionTrace(None, None, None, None, layer, None, None) for layer in weights]
    return Look(Attentions(layers, mask, tuple(rows.tokens), tuple(columns.tokens)), rows, columns)


def _one_head(kind, weights, looks):
    """Return the weights (layer, head, query, key) with all heads in one where that is asked for."""
    if "rollout" in looks and kind != "cross":
        return rollout(weights)[:, None]
    if "mean" in looks:
        return weights.mean(axis=1, keepdims=True)
    return weights.max(axis=1, keepdims=True) if "max" in looks else weights


def _side(text, offsets, tokens, labels):
    special = np.array([token in (START, END) for token in tokens], bool)
    words, sentences = word_of_token(text, offsets), sentence_of_token(text, offsets)
    texts = [text[start:end] for start, end in offsets]
    return Side(list(tokens), texts, list(labels), words, sentences, special)


def _words(side):
    """Return a side word by word; a word keeps what stood before its first piece and after its last."""
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
