"""The payload of the attention views for attention weights without a model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_viz.language import Problem, Words
from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures import views
from transformer_viz.pictures.captions import HeadsInText, captions_of, role_name, role_order
from transformer_viz.pictures.evidence import evidence_of
from transformer_viz.pictures.labels import shown_tokens, words_of
from transformer_viz.pictures.lens import head_metrics
from transformer_viz.questions.effects.result import Effects
from transformer_viz.questions.roles.rules import possible_patterns
from transformer_viz.text.byte_level import with_characters
from transformer_viz.text.segmentation import CHINESE, chinese_words
from transformer_viz.text.shown import is_continued
from transformer_viz.trace.attention_arrays import is_causal, rest_of
from transformer_viz.trace.reshape import word_of_token

NO_ROLE = "\u2013"
"""Shown for the role of a head that a layer does not have."""

LEAST_SAID = 0.005
"""Least share of the weight that goes to no token for a caption to say so: it would be shown as 0%."""

OF_NO_SENTENCE = -1
"""Number of the sentence of what is no token."""


def payload_of_attentions(found: Mapping[str, Attentions], words: Words, name: str, **options: Any) -> bytes:
    """Return the payload of the attention views; arguments as for `attentions_shown`, and the name."""
    shown = attentions_shown(found, words, **options)
    return views.payload_bytes(name, shown, labels_of(words, signed=options.get("signed", False)))


def labels_of(words: Words, *, signed: bool) -> dict[str, Any]:
    """Return the words of the views for attention weights without a model, or for other numbers."""
    labels: dict[str, Any] = words.under("lens") | {"too_long": words("arrays.no_vectors")}
    if signed:
        labels["values"] = labels["values"] | {"weights": words("lens.values.number")}
    return labels


def attentions_shown(
    found: Mapping[str, Attentions],
    words: Words,
    *,
    signed: bool = False,
    sentence_b_start: int | None = None,
) -> dict[str, views.AttentionPayload]:
    """Return what the views show of each kind of attention, by kind; each opens on the clearest head.

    Weight that goes to no token, as to the sinks of gpt-oss, has a column of its own.

    Args:
        found: Kind of attention ("encoder", "decoder", "cross"; "self" if there is a single text) -> its
            layers, of which only the weights are known.
        words: Sentences of the reader's language.
        signed: Whether they are no weights but any numbers, in which no patterns are looked for.
        sentence_b_start: Position of the first token of a second sentence in the encoder's text, or the only
            one; None: there is a single sentence.

    Raises:
        ValueError: If there is no such position.
    """
    named = {kind_of(each) if kind == "self" else kind: each for kind, each in found.items()}
    describe = _described_numbers if signed else _described
    shown = {kind: describe(kind, each, words) for kind, each in named.items()}
    if sentence_b_start is not None:
        kind = next(iter(shown))
        shown[kind] = _with_sentences(shown[kind], sentence_b_start)
    return shown


def cells_of(effects: Effects) -> dict[str, Attentions]:
    """Return the effects of cells in the form of attention weights, by kind of attention."""
    shown = {}
    for kind, cells in effects.cells.items():
        layers = [AttentionTrace(None, None, None, None, layer, None, None) for layer in cells]
        shown[kind] = Attentions(layers, np.ones((1, 1, *cells.shape[2:]), bool), *effects.tokens[kind])
    return shown


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
    found = _with_readable_tokens(found)
    present = [len(layer.weights) for layer in found.layers]
    rest = rest_of([layer.weights for layer in found.layers])
    found = found._replace(layers=_with_as_many_heads(found.layers))
    possible = [
        possible_patterns(kind, layer, positions=True, masked=True, start=True)
        for layer in range(len(found.layers))
    ]
    heads = HeadsInText(kind, found, possible)
    metrics = head_metrics(kind, found) | {"role": role_order(heads.roles)}
    metrics = {name: np.array(values, float) for name, values in metrics.items()}
    roles = [[role_name(words, role) for role in layer] for layer in heads.roles]
    (captions, usual), evidence = captions_of(words, heads, found.key_tokens), evidence_of(words, heads)
    for layer, count in enumerate(present):
        absent = len(roles[layer]) - count
        roles[layer][count:] = [NO_ROLE] * absent
        captions[layer][count:] = [words("arrays.no_head", count=count)] * absent
        for values in (*metrics.values(), *evidence.numbers):
            values[layer, count:] = np.nan
    if rest is not None:
        usual = _rest_said(rest, words)
        found = _with_rest(found, rest, words("arrays.rest"))
    return _payload(
        kind, found, words, metrics=metrics, roles=roles, captions=captions, opening=heads.measured.opening()
    )._replace(evidence=evidence, usual=usual)


def _described_numbers(kind, found, words):
    """Return what is shown of numbers that are no weights: each head is described by its largest one."""
    found = _with_readable_tokens(found)
    present = [len(layer.weights) for layer in found.layers]
    found = found._replace(layers=_with_as_many_heads(found.layers))
    sizes = np.stack([np.abs(layer.weights).max(axis=(1, 2)) for layer in found.layers]).astype(float)
    captions = [
        [_largest_said(numbers, found, words) for numbers in layer.weights[:count]]
        + [words("arrays.no_head", count=count)] * (len(layer.weights) - count)
        for layer, count in zip(found.layers, present, strict=True)
    ]
    for layer, count in enumerate(present):
        sizes[layer, count:] = np.nan
    roles = [[""] * sizes.shape[1] for _ in found.layers]
    opening = divmod(int(np.nanargmax(sizes)), sizes.shape[1])
    return _payload(
        kind, found, words, metrics={"size": sizes}, roles=roles, captions=captions, opening=opening
    )._replace(signed=True)


def _payload(kind, found, words, **described):
    rows, columns = list(found.query_tokens), list(found.key_tokens)
    return views.AttentionPayload(
        found,
        (rows, columns),
        name=words(f"kind.{kind}"),
        title=words("heatmap.query"),
        head_title=words("heads.title", layer="{layer}", head="{head}"),
        vectors={},
        sentences=(np.zeros(len(rows), int), np.zeros(len(columns), int)),
        words=(_words(rows), _words(columns)),
        **described,
    )


def _words(tokens):
    """Return the words of several tokens, as `words_of` does: sub-words, and characters of Chinese words."""
    pieces = [token[1:] if is_continued(token) else token for token in tokens]
    text, offsets = "", []
    for before, token, piece in zip(["", *tokens], tokens, pieces, strict=False):
        is_apart = not is_continued(token) and not (CHINESE.match(piece) and CHINESE.match(before))
        text += " " * is_apart
        offsets.append((len(text), len(text) + len(piece)))
        text += piece
    return words_of(pieces, word_of_token(text, offsets, chinese_words(text)))


def _with_readable_tokens(found):
    queries, keys = map(readable_tokens, (found.query_tokens, found.key_tokens))
    return found._replace(query_tokens=queries, key_tokens=keys)


def _largest_said(numbers, found, words):
    query, key = np.unravel_index(np.abs(numbers).argmax(), numbers.shape)
    tokens = {"query": found.query_tokens[query], "key": found.key_tokens[key]}
    return words("arrays.largest", number=f"{numbers[query, key]:.3g}", **tokens)


def _rest_said(rest, words):
    """Return how much of the weight of each head goes to no token, on average over the rows with any."""
    most = max(map(len, rest))
    return [
        [
            words("arrays.rest_said", share=f"{share:.0%}") if share >= LEAST_SAID else ""
            for share in _filled(each.mean(axis=-1), most)
        ]
        for each in rest
    ]


def _with_rest(found, rest, name):
    """Return attention with one more key, to which the rest of the weight goes."""
    most = len(found.layers[0].weights)
    filled = [_filled(each, most)[..., None] for each in rest]
    both = zip(found.layers, filled, strict=True)
    layers = [layer._replace(weights=np.concatenate([layer.weights, each], -1)) for layer, each in both]
    mask = np.concatenate([found.mask, found.mask.any(axis=-1, keepdims=True)], axis=-1)
    return found._replace(layers=layers, mask=mask, key_tokens=(*found.key_tokens, name))


def _filled(values, heads):
    """Return the values of a layer with zeros for the heads that it lacks."""
    return np.concatenate([values, np.zeros((heads - len(values), *values.shape[1:]), values.dtype)])


def _with_sentences(shown, start):
    """Return a kind of attention within one text, whose second sentence begins at a token."""
    rows = len(shown.found.query_tokens)
    if not 0 < start < rows:
        raise Problem("arrays.sentence", start=start, last=rows - 1)
    sentences = (np.arange(rows) >= start).astype(int)
    rest = np.full(len(shown.found.key_tokens) - rows, OF_NO_SENTENCE)
    return shown._replace(sentences=(sentences, np.append(sentences, rest)))


def _with_as_many_heads(layers):
    """Return layers that all have as many heads as the largest; those added attend to nothing."""
    most = max(len(layer.weights) for layer in layers)
    return [
        layer._replace(weights=np.pad(layer.weights, ((0, most - len(layer.weights)), (0, 0), (0, 0))))
        for layer in layers
    ]
