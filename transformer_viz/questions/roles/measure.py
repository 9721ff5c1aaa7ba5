"""Roles of heads over many texts."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.head_roles import HeadRoles, Typical, kept_words
from transformer_viz.questions.roles.head_survey import Text, length_order
from transformer_viz.questions.roles.measure_survey import measured_texts
from transformer_viz.questions.roles.pattern_totals import pattern_totals
from transformer_viz.questions.roles.sentences import short_texts
from transformer_viz.questions.roles.survey import NoChoiceError, roles_of_totals
from transformer_viz.text.texts import each_text

__all__ = ["NoChoiceError", "head_roles"]

SENTENCES = 4
"""Most sentences of a text: some hundred must have words typical of a label, which are in few of them."""

CHUNK = 256
"""Texts that are sorted by length together."""


def head_roles(
    explorer: Explorer,
    texts: Iterable[Text],
    *,
    words: Typical | None = None,
    progress: Callable[[int], None] | None = None,
) -> HeadRoles:
    """Return what each head of a model usually does, measured over many texts: some hundreds are enough.

    Texts of similar length share a forward pass. Texts in which no token can choose between two keys are left
    out. If the texts are much longer than their sentences, the same is measured in `SENTENCES` of each, too:
    `HeadRoles.short`.

    Args:
        explorer: `Explorer`.
        texts: Texts; for an encoder-decoder (text, target) pairs, or texts for which it generates the target,
            which is slower.
        words: The words typical of each label of a classifier, as `typical_words` returns them; None: those
            that are kept with the model, if there are any.
        progress: Called after each text with the number of texts read so far, and after each sentence with
            the number of all texts.

    Raises:
        NoChoiceError: If no text is left. It is a `ValueError`.
    """
    texts = list(each_text(texts, pairs=True))
    words = kept_words(explorer.head_roles) if words is None else words
    report = progress or (lambda number: None)
    found = _measured(explorer, texts, words, report)
    plain = [text for text in texts if isinstance(text, str)]
    is_divided = explorer.target_tokenizer is None and len(plain) == len(texts)
    short = short_texts(explorer, plain, SENTENCES) if is_divided else []
    try:
        measured = _measured(explorer, short, words, lambda number: report(len(texts)))
    except NoChoiceError:
        return found
    return dataclasses.replace(found, short=measured)


def _measured(explorer, texts: Sequence[Text], words, report):
    """Return what the heads do in these texts alone."""
    totals, tokens = pattern_totals(explorer.config, words), []
    for number, found in enumerate(measured_texts(explorer, _by_length(texts), words), start=1):
        for kind, heads in found.kinds.items():
            totals[kind].add(heads.layers)
        if found.kinds:
            tokens.append(found.tokens)
        report(number)
    return roles_of_totals(totals, tokens, words)


def _by_length(texts) -> Iterator[Text]:
    """Yield the texts, a chunk at a time, the longest of each first."""
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        yield from (chunk[number] for number in length_order(chunk))
