"""The payload of the attention views for attention weights without a model."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_viz.analysis import Role
from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.captions import HeadsInText, captions_of, role_name, role_order
from transformer_viz.pictures.evidence import evidence_of
from transformer_viz.pictures.labels import shown_tokens
from transformer_viz.pictures.lens import head_metrics
from transformer_viz.text.byte_level import with_characters
from transformer_viz.values.attention_arrays import is_causal
from transformer_viz.values.patterns import possible_patterns
from transformer_viz.values.tensors import Attentions

NO_ROLE = "\u2013"
"""Shown for the role of a head that a layer does not have."""


def payload_of_attentions(found: Mapping[str, Attentions], words: Words, name: str) -> bytes:
    """Return the payload of the attention views; each opens on the head with the clearest pattern.

    Args:
        found: Kind of attention ("encoder", "decoder", "cross") -> its layers, of which only the weights are
            known.
        words: Sentences of the reader's language.
        name: Name of the model.
    """
    shown = {kind: _described(kind, each, words) for kind, each in found.items()}
    labels = words.under("lens") | {"too_long": words("arrays.no_vectors")}
    return views.payload_bytes(name, shown, labels)


def kind_of(found: Attentions) -> str:
    """Return "decoder" for self-attention that never attends to a later token, else "encoder"."""
    return "decoder" if is_causal([layer.weights for layer in found.layers]) else "encoder"


def readable_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens as a person reads them: without the marks of sub-words, and bytes as characters.

    >>> readable_tokens(["Ġun", "believ", "able"]), readable_tokens(["un", "##believable"])
    (('un', '-believ', '-able'), ('un', '-believable'))
    """
    return shown_tokens(with_characters(tokens))


def _described(kind, found, words):
    found = found._replace(
        query_tokens=readable_tokens(found.query_tokens), key_tokens=readable_tokens(found.key_tokens)
    )
    present = [len(layer.weights) for layer in found.layers]
    found = found._replace(layers=_with_as_many_heads(found.layers))
    possible = [
        possible_patterns(kind, layer, positions=True, masked=True, start=True)
        for layer in range(len(found.layers))
    ]
    heads = HeadsInText(kind, found, possible)
    for layer, count in enumerate(present):
        heads.roles[layer][count:] = [Role("mixed", 0.0, 0)] * (len(heads.roles[layer]) - count)
    labels = list(found.key_tokens)
    metrics = head_metrics(kind, found) | {"role": role_order(heads.roles)}
    metrics = {name: np.array(values, float) for name, values in metrics.items()}
    roles = [[role_name(words, role) for role in layer] for layer in heads.roles]
    captions, evidence = captions_of(words, heads, labels), evidence_of(words, heads)
    for layer, count in enumerate(present):
        absent = len(roles[layer]) - count
        roles[layer][count:] = [NO_ROLE] * absent
        captions[layer][count:] = [words("arrays.no_head", count=count)] * absent
        for values in (*metrics.values(), *evidence.numbers):
            values[layer, count:] = np.nan
    return views.AttentionPayload(
        found,
        (list(found.query_tokens), labels),
        name=words(f"kind.{kind}"),
        title=words("heatmap.query"),
        head_title=words("heads.title", layer="{layer}", head="{head}"),
        metrics=metrics,
        roles=roles,
        captions=captions,
        vectors={},
        sentences=(np.zeros(len(found.query_tokens), int), np.zeros(len(labels), int)),
        evidence=evidence,
        opening=_opening(heads),
    )


def _with_as_many_heads(layers):
    """Return layers that all have as many heads as the largest; those added attend to nothing."""
    most = max(len(layer.weights) for layer in layers)
    return [
        layer._replace(weights=np.pad(layer.weights, ((0, most - len(layer.weights)), (0, 0), (0, 0))))
        for layer in layers
    ]


def _opening(heads):
    """Return layer and head with the most weight on the pattern of its role beyond uniform attention."""
    share, even = heads.shares()
    clear = {(0, 0): 0.0}
    for layer, roles in enumerate(heads.roles):
        for head, role in enumerate(roles):
            if role.name not in ("even", "mixed"):
                number = heads.names.index(role.name)
                clear[layer, head] = (share - even)[layer, head, number] * role.support
    return max(clear, key=lambda place: clear[place])
