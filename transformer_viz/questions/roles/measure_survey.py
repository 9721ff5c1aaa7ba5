"""Surveys of heads: what each head of a model does in each of many texts."""

from collections.abc import Callable, Iterable, Iterator

from transformer_viz.explorer.batched import batched_attention
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.head_roles import Typical, kept_words
from transformer_viz.questions.roles.head_survey import HeadSurvey, Text, length_order
from transformer_viz.questions.roles.survey import MeasuredText, SurveyTotals, measure_heads
from transformer_viz.questions.roles.typical_words import typical_keys
from transformer_viz.text.texts import each_text
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.request import Request


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
