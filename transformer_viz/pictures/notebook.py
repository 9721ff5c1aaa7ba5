"""The attention views in a notebook or as a standalone HTML file."""

import html
import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

from transformer_viz.language import Problem, Words
from transformer_viz.pictures import views
from transformer_viz.pictures.arrays import attentions_shown, labels_of
from transformer_viz.pictures.compared import compared_attentions
from transformer_viz.pictures.lens import described
from transformer_viz.values.attention_arrays import read_kinds
from transformer_viz.values.comparison import Comparison
from transformer_viz.values.effects import HeadEffects
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.trace import Trace

HEIGHT = 820
"""Height of a page in a notebook, in pixels."""

VIEWS = ("all", "grid", "matrix", "lines", "steps")
"""Names of the views: side by side, all heads, the selected head as a matrix, as lines, and step by step."""

HTML_ACTIONS = ("view", "return")
"""What BertViz may be asked to do; here, a page is always returned."""


@dataclass(frozen=True)
class Page:
    """A standalone page of attention views; a notebook displays it as the last expression of a cell.

    Attributes:
        html: The complete page; it needs no server and no network.
    """

    html: str

    def __repr__(self):
        return f"Page({len(self.html):,} characters of HTML)"

    @property
    def data(self) -> str:
        """The page under the name that it has in what BertViz returns."""
        return self.html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file that any browser can open."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        source = html.escape(self.html)
        return f'<iframe style="width: 100%; height: {HEIGHT}px; border: 0" srcdoc="{source}"></iframe>'


class Shown(NamedTuple):
    """What a page shows.

    Attributes:
        model: Name of the model.
        title: Title of the page.
        attentions: Kind of attention -> what the views show of it.
        labels: Words of the views.
    """

    model: str
    title: str
    attentions: dict[str, views.AttentionPayload]
    labels: dict[str, Any]


def show(  # noqa: PLR0913  what is shown, how to read it, and where to begin
    attention: Trace | Comparison | Any = None,
    tokens: Sequence[str] | None = None,
    *,
    decoder: Any = None,
    cross: Any = None,
    target_tokens: Sequence[str] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    attention_mask: Any = None,
    signed: bool = False,
    sentence_b_start: SupportsIndex | None = None,
    include_layers: Sequence[SupportsIndex] | None = None,
    kind: str | None = None,
    layer: SupportsIndex | None = None,
    head: SupportsIndex | None = None,
    heads: Sequence[SupportsIndex] | None = None,
    view: str = "all",
    name: str = "",
    language: str = "en",
    effects: HeadEffects | None = None,
    head_roles: HeadRoles | None = None,
    html_action: str = "return",
) -> Page:
    """Return a page with all attention views, as in the app.

    It shows a trace, two traces that are compared, or attention weights that any program has computed:

        output = model(**inputs, output_attentions=True)  # transformers, with attn_implementation="eager"
        tv.show(output, tokenizer.convert_ids_to_tokens(inputs.input_ids[0]))

    Of an encoder-decoder, give the tokens of both texts, and the output as well, or the weights of the
    encoder, those of its decoder and the cross-attention by name; any of the three may be left out. Or give
    all of them at once, as `attention_of` returns them: `target_tokens` then tells which is which, if the two
    texts differ in length. Names of BertViz are understood, too: `encoder_attention` and `encoder_tokens` are
    `attention` and `tokens`, `decoder_attention`, `cross_attention` and `decoder_tokens` are `decoder`,
    `cross` and `target_tokens`.

    Args:
        attention: A trace, as `Explorer.trace` returns it; a comparison, as `compare` does; an output of
            `transformers`, also of `generate()`; or weights of self-attention: for each layer an array of
            NumPy, PyTorch, TensorFlow or JAX, (head, query, key), also with a batch axis of 1 in front; one
            such layer, or one matrix (query, key); the steps of `generate()`; or a mapping from names to
            layers. Layers may have different numbers of heads. What a row lacks to a sum of 1 is a column.
        tokens: The tokens of the text that these weights belong to; for a trace, None.
        decoder: Weights of the self-attention of an encoder-decoder's decoder.
        cross: Weights of the cross-attention, from `target_tokens` to `tokens`.
        target_tokens: The tokens of the decoder of an encoder-decoder.
        encoder_attention: Another name of `attention`.
        decoder_attention: Another name of `decoder`.
        cross_attention: Another name of `cross`.
        encoder_tokens: Another name of `tokens`.
        decoder_tokens: Another name of `target_tokens`.
        attention_mask: What the model was allowed to attend to in `tokens`, 1 or True: (key,) as tokenizers
            return it, (query, key) or (head, query, key). None: the weights tell.
        signed: Whether the arrays are no distributions but any numbers, as gradients, differences or scores:
            they are coloured around zero, and no patterns are named. Those that are NaN or -inf are masked.
        sentence_b_start: Position of the first token of the second sentence, to show attention between both.
        include_layers: Numbers of the layers to show, 0-based; they keep these numbers. None: all.
        kind: The attention that is shown first, "encoder", "decoder" or "cross".
        layer: The layer that is shown first, 0-based.
        head: The head that is shown first, 0-based.
        heads: The heads whose lines are shown first; the first of them is selected.
        view: The view that is shown first: "all", "grid", "matrix", "lines" or "steps".
        name: Name of the model, for the title; of a trace it is known.
        language: "en" or "zh".
        effects: Result of `head_effects`, shown in the captions and to sort heads by; None: unknown.
        head_roles: What the model's heads usually do, `explorer.head_roles`; None: unknown.
        html_action: As in BertViz, "view" or "return". The page is returned in any case, with its HTML as
            `html` and `data`; a notebook shows it if it is the last expression of a cell.

    Raises:
        ValueError: If the arrays are no attention weights of these tokens, there is no such language, layer,
            head, kind or view, or an argument does not belong to what is shown.
    """
    words = Words(language)
    read: dict[str, Any] = {
        "decoder": _either(decoder=decoder, decoder_attention=decoder_attention),
        "cross": _either(cross=cross, cross_attention=cross_attention),
        "target_tokens": _either(target_tokens=target_tokens, decoder_tokens=decoder_tokens),
        "attention_mask": attention_mask,
        "signed": signed,
    }
    attention = _either(attention=attention, encoder_attention=encoder_attention)
    tokens = _either(tokens=tokens, encoder_tokens=encoder_tokens)
    of_arrays = {"tokens": tokens, **read, "sentence_b_start": sentence_b_start, "name": name}
    of_traces = {"effects": effects, "head_roles": head_roles}
    if isinstance(attention, Trace):
        _refuse(of_arrays, "show.trace")
        shown = _of_trace(attention, words, effects, head_roles)
    elif isinstance(attention, Comparison):
        _refuse(of_arrays | of_traces, "show.comparison")
        shown = _of_comparison(attention, words)
    else:
        _refuse(of_traces, "show.arrays")
        found = read_kinds(attention, tokens, **read)
        start = None if sentence_b_start is None else operator.index(sentence_b_start)
        kinds = attentions_shown(found, words, signed=signed, sentence_b_start=start)
        shown = Shown(name, name or words("kind.label"), kinds, labels_of(words, signed=signed))
    _one_of("html_action", html_action, HTML_ACTIONS)
    if include_layers is not None:
        shown = _with_layers(shown, include_layers)
    begin = _start(shown.attentions, kind, layer, head, heads, view)
    compact = {kind: each.compact() for kind, each in shown.attentions.items()}
    payload = views.payload_bytes(shown.model, compact, shown.labels)
    return Page(views.page(payload, title=shown.title, language=language, start=begin))


def _of_trace(trace, words, effects, head_roles):
    kinds = described(trace, words, effects=effects, head_roles=head_roles)
    return Shown(trace.model, f"{trace.model}: {trace.text}", kinds, words.under("lens"))


def _of_comparison(comparison, words):
    sides = comparison.a, comparison.b
    title = " → ".join(dict.fromkeys(f"{side.model}: {side.text}" for side in sides))
    kinds = compared_attentions(comparison, words)
    return Shown(comparison.b.model, title, kinds, words.under("lens"))


def _either(**names):
    """Return the value of an argument that has two names."""
    given = {name: value for name, value in names.items() if value is not None}
    if len(given) > 1:
        raise Problem("show.twice", one=min(given, key=len), other=max(given, key=len))
    return next(iter(given.values()), None)


def _refuse(arguments, code):
    """Refuse arguments that say nothing of what is shown."""
    for name, value in arguments.items():
        if value is not None and value is not False and not (isinstance(value, str) and not value):
            raise Problem(code, name=name)


def _with_layers(shown, layers):
    count = max(len(each.found.layers) for each in shown.attentions.values())
    where = sorted({_number("include_layers", layer, count) for layer in layers})
    kinds = {
        kind: each.of_layers([layer for layer in where if layer < len(each.found.layers)])
        for kind, each in shown.attentions.items()
    }
    kinds = {kind: each for kind, each in kinds.items() if each.found.layers}
    if not kinds:
        raise Problem("show.no_layers")
    return shown._replace(attentions=kinds)


def _start(attentions, kind, layer, head, heads, view):
    """Return the selection on which the views open, as `views.page` takes it."""
    _one_of("view", view, VIEWS)
    start: dict[str, Any] = {"view": view}
    if kind is not None:
        _one_of("kind", kind, attentions)
        start["kind"] = kind
    shown = attentions[kind or list(attentions)[-1]]
    numbers = [number - 1 for number in shown.numbers or range(1, len(shown.found.layers) + 1)]
    if layer is not None:
        start["layer"] = numbers.index(_number("layer", layer, 1 + max(numbers), numbers))
    count = len(shown.found.layers[start.get("layer", shown.opening[0])].weights)
    if heads is not None:
        start["shown"] = [_number("heads", each, count) for each in heads]
        start["head"] = start["shown"][0] if start["shown"] else None
    if head is not None:
        start["head"] = _number("head", head, count)
    return start


def _one_of(name, value, allowed):
    if value not in allowed:
        raise Problem("show.choice", name=name, received=repr(value), choices=", ".join(map(repr, allowed)))


def _number(name, value, count, among=None):
    """Return a number of a layer or head, of any type of whole numbers."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number not in (range(count) if among is None else among):
        raise Problem("show.number", name=name, received=repr(value), last=count - 1)
    return number
