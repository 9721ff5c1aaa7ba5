"""Roles of heads over many texts."""

from collections.abc import Callable, Iterable

from transformer_viz.analysis import pattern_shares, text_patterns
from transformer_viz.analysis.pattern_totals import PatternTotals
from transformer_viz.inspection.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.interventions import all_heads
from transformer_viz.values.patterns import patterns_of_config
from transformer_viz.values.request import Request


class NoChoiceError(Problem):
    """In none of the texts can a token choose between two keys."""


def head_roles(
    explorer: Explorer,
    texts: Iterable[str | tuple[str, str]],
    *,
    progress: Callable[[int], None] | None = None,
) -> HeadRoles:
    """Return what each head of a model usually does, measured over many texts: some hundreds are enough.

    Each text takes one forward pass. Texts in which no token can choose between two keys are left out.

    Args:
        explorer: `Explorer`.
        texts: Texts; for an encoder-decoder (text, target) pairs, or texts for which it generates the target,
            which is slower.
        progress: Called after each text with the number of texts read so far.

    Raises:
        NoChoiceError: If no text is left. It is a `ValueError`.
    """
    config = explorer.config
    heads = [(kind, layer) for kind, layer, head in all_heads(config) if head == 0]
    possible: dict[str, list[frozenset[str]]] = {}
    for kind, layer in heads:
        possible.setdefault(kind, []).append(patterns_of_config(config, kind, layer))
    totals = {kind: PatternTotals(kind, each, config.num_heads) for kind, each in possible.items()}
    count = 0
    for number, each in enumerate(texts, start=1):
        count += _add(explorer, each, totals)
        if progress is not None:
            progress(number)
    if not count:
        raise NoChoiceError("head_roles.no_texts")
    return HeadRoles(count, {kind: each.result() for kind, each in totals.items()})


def _add(explorer, each, totals):
    """Add one text to the totals; return whether it shows anything."""
    text, target = (each, None) if isinstance(each, str) else each
    try:
        trace = explorer.run(Request.of(explorer.name, text, target), keep="weights")
    except NoTokensError:
        return False
    is_shown = False
    for kind, found in trace.kinds().items():
        patterns = text_patterns(found.mask, found.query_tokens, found.key_tokens, cross=kind == "cross")
        if patterns.has_choice:
            totals[kind].add([pattern_shares(patterns, layer.weights) for layer in found.layers])
            is_shown = True
    return is_shown
