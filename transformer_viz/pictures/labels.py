"""The texts beside the rows and columns of attention."""

from transformer_viz.text.kinds import is_spaced, shown_piece
from transformer_viz.text.tokenizer import visible
from transformer_viz.values.trace import Trace

GAP = "⋯"
"""Stands before what follows words that were left out, or after what they followed."""

ARROW = " → "
"""Stands between a token and what the model would write after it."""


def axis_tokens(trace: Trace, tokens) -> list[str]:
    """Return the tokens of one side: without marks, an unknown word as typed, and where a text was cut."""
    spaced = is_spaced(tokens)
    labels = [shown_piece(token, spaced) for token in tokens]
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


def axis_labels(trace: Trace) -> dict[str, tuple[list[str], list[str]]]:
    """Return kind of attention -> what stands beside its rows and its columns."""
    beside = {}
    for kind, found in trace.kinds().items():
        queries, keys = (axis_tokens(trace, side) for side in (found.query_tokens, found.key_tokens))
        beside[kind] = (queries if kind == "encoder" else with_predictions(trace, queries), keys)
    return beside


def with_predictions(trace: Trace, tokens) -> list[str]:
    """Return a decoder's tokens with what it would write after each."""
    following = [label_of(trace, number) for number in trace.probs.argmax(axis=-1)]
    return [f"{token}{ARROW}{after}" for token, after in zip(tokens, following, strict=True)]


def label_of(trace: Trace, number) -> str:
    """Return a label as it is shown: the name of a class, or a token without marks."""
    are_tokens = trace.probs.ndim == 2
    return visible(shown_piece(trace.labels[number], are_tokens and is_spaced(trace.labels)))
