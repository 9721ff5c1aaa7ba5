"""What the heads of a model do in many texts, measured."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from transformer_viz.explorer.batched import batched_attention
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.result import LONGER, HeadRoles, Typical, kept_words
from transformer_viz.questions.roles.survey import (
    HeadSurvey,
    MeasuredText,
    NoChoiceError,
    SurveyTotals,
    Text,
    length_order,
    measure_heads,
    pattern_totals,
    roles_of_totals,
)
from transformer_viz.questions.roles.words import typical_keys
from transformer_viz.text.sentences import some_passages
from transformer_viz.text.texts import each_text
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import Request

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


def head_survey(
    explorer: Explorer, texts: Iterable[Text], *, progress: Callable[[int], None] | None = None
) -> HeadSurvey:
    """Return what each head of a model does in each of many texts, and on average.

    Texts of similar length share a forward pass. Texts in which no token can choose between two keys count
    nowhere.

    Args:
        explorer: `Explorer`.
        texts: Texts; for an encoder-decoder (text, target) pairs, or texts for which it generates the target,
            which is slower.
        progress: Called after each text with the number of texts read so far.

    Raises:
        NoChoiceError: If no text is left. It is a `ValueError`.
    """
    texts, words = list(each_text(texts, pairs=True)), kept_words(explorer.head_roles)
    totals = SurveyTotals(explorer.config, texts, words)
    order = length_order(texts)
    measured = measured_texts(explorer, [texts[number] for number in order], words)
    for done, (number, found) in enumerate(zip(order, measured, strict=True), start=1):
        totals.add(number, found)
        if progress is not None:
            progress(done)
    return totals.result()


def measured_texts(explorer: Explorer, texts: Iterable[Text], words: Typical) -> Iterator[MeasuredText]:
    """Yield what the heads do in each text, in order; computed lazily, a batch of texts at a time.

    Args:
        explorer: `Explorer`.
        texts: As for `head_survey`.
        words: The words typical of each label.
    """
    prepared = (_prepared(explorer, each) for each in texts)
    for text, attention in batched_attention(explorer, prepared):
        read = None if text is None else text.source
        keys = None if read is None else typical_keys(read.text, read.offsets, read.tokens, words)
        measured = ((kind, measure_heads(kind, found, keys)) for kind, found in attention.items())
        kinds = {kind: found for kind, found in measured if found is not None}
        cut = text is not None and bool(text.source.num_dropped or (text.target and text.target.num_dropped))
        yield MeasuredText(kinds, 0 if read is None else len(read.ids), cut)


def _prepared(explorer, each):
    text, target = (each, None) if isinstance(each, str) else each
    try:
        return explorer.prepare(explorer.with_target(Request.of(explorer.name, text, target)))
    except NoTokensError:
        return None


def short_texts(explorer: Explorer, texts: Sequence[str], count: int = 1) -> list[str]:
    """Return random sentences of each text, always the same ones, as `some_passages`.

    None at all if the texts are hardly longer: their median number of tokens is below `LONGER` times that of
    the sentences.

    Args:
        explorer: `Explorer`.
        texts: The texts.
        count: Most sentences of each; with 1, it is one of each.
    """
    random = np.random.default_rng(0)
    sentences = [passage for text in texts for passage in some_passages(text, count, random)]
    whole, short = (median_tokens(explorer.encode(each)) for each in (texts, sentences))
    return sentences if whole >= LONGER * short else []


def median_tokens(token_ids: Sequence[np.ndarray]) -> int:
    """Return the median number of tokens of some texts; 0 if there are none."""
    return round(float(np.median([len(ids) for ids in token_ids]))) if len(token_ids) else 0
