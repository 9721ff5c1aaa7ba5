"""Heads with weights of one's own, and what they do in a text."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.questions.roles.patterns import roles_in_text, text_patterns
from transformer_viz.questions.roles.result import KindRoles
from transformer_viz.questions.roles.rules import ROLES
from transformer_viz.questions.roles.survey import KindTotals


def attention_of(
    layers: Sequence[np.ndarray],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    mask: np.ndarray | None = None,
) -> Attentions:
    """Return attention of which only the weights are known: (head, query, key) of each layer.

    The mask is bool (layer or 1, head or 1, query, key); without one all tokens may attend to all.
    """
    keys = queries if keys is None else keys
    mask = np.ones((1, 1, len(queries), len(keys)), bool) if mask is None else mask
    traces = [AttentionTrace(None, None, None, None, np.asarray(layer), None, None) for layer in layers]
    return Attentions(traces, mask, tuple(queries), tuple(keys))


def measured(
    kind: str,
    found: Attentions,
    possible: Sequence[Collection[str]] | None = None,
    typical: Mapping[str, np.ndarray] | None = None,
) -> KindRoles:
    """Return what heads do in a text, whose layers can have some patterns each; without any, all of them."""
    possible = [ROLES] * len(found.layers) if possible is None else possible
    return roles_in_text(text_patterns(kind, found, typical), found, possible)


def averaged(
    texts: Iterable[KindRoles], possible: Sequence[Collection[str]], labels: Collection[str] = ()
) -> KindRoles:
    """Return the averages over texts of what the heads of an encoder do, with the words of some labels."""
    texts = [*texts]
    totals = KindTotals("encoder", possible, texts[0].share.shape[1], labels)
    for each in texts:
        totals.add(each)
    return totals.result()
