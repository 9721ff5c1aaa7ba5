"""The text of a masked language model, each of its tokens a button that hides it."""

from typing import Any

from transformer_viz.language import Words
from transformer_viz.pictures.labels import GAP
from transformer_viz.text.gaps import ChangedText
from transformer_viz.text.unicode import visible
from transformer_viz.values.special import MASK
from transformer_viz.values.trace import Trace


def cloze_of(words: Words, trace: Trace, changed: ChangedText, mask: str = MASK) -> dict[str, Any]:
    """Return the tokens that the model has read, as typed, in the format of `cloze.js`.

    Tokens without characters, such as [START], are left out; those of the same characters, such as the bytes
    of an emoji, are one.

    Args:
        words: Sentences of the visitor's language.
        trace: The trace of a text.
        changed: The same text, with what stood in place of its [MASK].
        mask: Name of [MASK].
    """
    parts, last = [], 0
    for number, (begin, end) in enumerate(trace.offsets):
        if number == trace.cut_at:
            parts.append(f" {GAP} ")
        elif begin > last:
            parts.append(" ")
        if last <= begin < end:
            hidden, change = number in trace.gaps, changed.change_at(begin, end)
            word = visible(trace.text[begin:end])
            said = _help(words, word, hidden, change, mask)
            parts.append({"word": word, "place": [begin, end], "hidden": hidden, "help": said})
        last = max(last, end)
    if trace.cut_at == len(trace.offsets):
        parts.append(f" {GAP}")
    return {"text": trace.text, "label": words("filling.label", mask=mask), "parts": parts}


def _help(words, word, hidden, change, mask):
    if not hidden:
        return words("filling.hide", word=word, mask=mask)
    return "" if change is None else words("filling.restore", word=visible(change.original.strip()))
