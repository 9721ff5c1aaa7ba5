"""Labels of the rows and columns of attention matrices."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from transformer_viz.text.shown import shown_piece, shown_pieces
from transformer_viz.text.special import EDGES
from transformer_viz.text.unicode import visible
from transformer_viz.trace.trace import Trace

GAP = "⋯"
"""Marks the place where tokens were left out."""

ARROW = " → "
"""Separates a token from the predicted next token."""

GUESS = 0.2
"""Smallest probability with which a predicted next token is named: below it, most are arbitrary."""


def axis_tokens(trace: Trace, tokens: Sequence[str]) -> list[str]:
    """Return tokens as labels: no subword marks, unknown words as typed, a gap where the text was cut."""
    labels = shown_pieces(tokens)
    if tokens is not trace.tokens:
        return labels
    for number, (word, unknown) in enumerate(zip(trace.words, trace.unknown, strict=True)):
        if unknown:
            labels[number] = f"{word} [UNK]"
    if trace.cut_at is not None:
        if trace.cut_at < len(labels):
            labels[trace.cut_at] = f"{GAP} {labels[trace.cut_at]}"
        else:
            labels[-1] += f" {GAP}"
    return labels


def shown_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens without the marks of sub-words."""
    return tuple(map(visible, shown_pieces(tokens)))


def words_of(texts: Sequence[str], words: np.ndarray) -> list[tuple[int, int, str]]:
    """Return the words of several tokens: (first token, the one behind the last, the word as typed).

    Args:
        texts: Typed text of each token.
        words: int (token,): number of the word of each token.
    """
    begins = np.flatnonzero(np.diff(words, prepend=-1))
    ends = np.append(begins[1:], len(words))
    places = zip(begins.tolist(), ends.tolist(), strict=True)
    return [(begin, end, visible("".join(texts[begin:end]))) for begin, end in places if end - begin > 1]


def as_shown(trace: Trace) -> Trace:
    """Return a trace whose tokens have no marks of sub-words, to be read by people."""
    tokens, target = shown_tokens(trace.tokens), shown_tokens(trace.target_tokens)
    return dataclasses.replace(trace, tokens=tokens, target_tokens=target)


def axis_labels(trace: Trace) -> dict[str, tuple[list[str], list[str]]]:
    """Return kind of attention -> labels of its rows and of its columns."""
    labels = {}
    for kind, found in trace.kinds().items():
        queries, keys = (axis_tokens(trace, side) for side in (found.query_tokens, found.key_tokens))
        labels[kind] = (queries if kind == "encoder" else with_predictions(trace, queries), keys)
    return labels


def with_predictions(trace: Trace, tokens: Sequence[str]) -> list[str]:
    """Return a decoder's tokens, each with the predicted next token if its probability is `GUESS` or more."""
    likeliest = zip(trace.probs.argmax(axis=-1), trace.probs.max(axis=-1), strict=True)
    following = [ARROW + label_of(trace, number) if share >= GUESS else "" for number, share in likeliest]
    return [token + after for token, after in zip(tokens, following, strict=True)]


def label_of(trace: Trace, number: int) -> str:
    """Return an output label for display: a class name, or a token without subword marks."""
    are_spaced = trace.probs.ndim == 2 and trace.labels_are_spaced
    return visible(shown_piece(trace.labels[number], are_spaced))


def answer_text(trace: Trace) -> str:
    """Return what a model answers: the text it writes, or the likeliest class or token."""
    if trace.encoder and trace.decoder:
        return written_text(trace)
    return label_of(trace, int(trace.answer_probs.argmax()))


def written_text(trace: Trace) -> str:
    """Return the text that an encoder-decoder has written: "∅" if empty, with "…" where it would go on."""
    last = np.flatnonzero(trace.is_real)[-1]
    ended = trace.labels[trace.probs.argmax(axis=-1)[last]] in EDGES
    return (trace.target_text or "∅") + ("" if ended else " …")
