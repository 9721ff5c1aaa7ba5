"""What the heads of a model do in many texts, measured."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from transformer_viz.explorer.batched import batched_attention
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.patterns import roles_in_text, text_patterns
from transformer_viz.questions.roles.result import HeadRoles, Typical, kept_words
from transformer_viz.questions.roles.rules import patterns_of_config
from transformer_viz.questions.roles.survey import (
    HeadSurvey,
    MeasuredText,
    NoChoiceError,
    SurveyTotals,
    Text,
    length_order,
    text_histograms,
)
from transformer_viz.questions.roles.words import typical_keys
from transformer_viz.text.sentences import some_passages
from transformer_viz.text.texts import each_text
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import Request

LONGER = 2
"""Least ratio of the tokens of texts to those of their sentences for heads to be measured in both."""

SENTENCES = 4
"""Most sentences of a text: some hundred must have words typical of a label, which are in few of them."""


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
    report = progress or (lambda number: None)
    found = head_survey(explorer, texts, words=words, progress=report).roles
    plain = [text for text in texts if isinstance(text, str)]
    is_divided = explorer.target_tokenizer is None and len(plain) == len(texts)
    short = short_texts(explorer, plain, SENTENCES) if is_divided else []
    with contextlib.suppress(NoChoiceError):
        measured = head_survey(explorer, short, words=words, progress=lambda number: report(len(texts)))
        found = dataclasses.replace(found, short=measured.roles)
    return found


def head_survey(
    explorer: Explorer,
    texts: Iterable[Text],
    *,
    words: Typical | None = None,
    progress: Callable[[int], None] | None = None,
) -> HeadSurvey:
    """Return what each head of a model does in each of many texts, and on average.

    Arguments and errors as for `head_roles`. Texts in which no token can choose between two keys count
    nowhere.
    """
    texts = list(each_text(texts, pairs=True))
    words = kept_words(explorer.head_roles) if words is None else words
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
    possible = patterns_of_config(explorer.config)
    for text, attention in batched_attention(explorer, (_prepared(explorer, each) for each in texts)):
        if text is None:
            yield MeasuredText({}, {}, 0)
            continue
        read, roles, histograms = text.source, {}, {}
        typical = typical_keys(read.text, read.offsets, read.tokens, words)
        for kind, found in attention.items():
            patterns = text_patterns(kind, found, typical)
            if all(layer.has_choice for layer in patterns):
                roles[kind] = roles_in_text(patterns, found, possible[kind])
                histograms[kind] = text_histograms(kind, patterns, found)
        cut = bool(read.num_dropped or (text.target and text.target.num_dropped))
        yield MeasuredText(roles, histograms, len(read.ids), cut)


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


def _prepared(explorer, each):
    text, target = (each, None) if isinstance(each, str) else each
    try:
        return explorer.prepare(explorer.with_target(Request.of(explorer.name, text, target)))
    except NoTokensError:
        return None
