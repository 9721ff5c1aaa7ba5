"""The attention views in a notebook or as a standalone HTML file."""

import base64
import functools
import html
import io
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from transformer_viz.language import Problem, Words, joined, sentence_of
from transformer_viz.pictures import views
from transformer_viz.pictures.arrays import attentions_shown, cells_of, labels_of
from transformer_viz.pictures.compared import compared_attentions
from transformer_viz.pictures.epochs import heads_by_epoch, kinds_of, watched_texts
from transformer_viz.pictures.lens import described
from transformer_viz.pictures.opened import Opened, numbers_of
from transformer_viz.questions.effects.result import Effects, HeadEffects
from transformer_viz.questions.roles.head_roles import HeadRoles
from transformer_viz.text.unicode import visible
from transformer_viz.trace.attention_arrays import read_kinds
from transformer_viz.trace.comparison import Comparison
from transformer_viz.trace.recorded_attention import AttentionByEpoch
from transformer_viz.trace.trace import Trace

HEIGHTS = (560, 820)
"""Least and largest height of a page in a notebook until it has been drawn, in pixels."""

PIXELS_AROUND, PIXELS_OF_TOKEN = 260, 40
"""Height of what stands around a matrix, and of each of its rows, as far as there is room."""

FRAME = (
    '<div style="display: grid"><div style="grid-area: 1 / 1; max-height: {height}px; overflow: hidden">'
    '{instead}</div><iframe style="grid-area: 1 / 1; width: 100%; height: {height}px; border: 0" '
    'srcdoc="{source}"></iframe></div>'
)
"""A page in a notebook, over what is shown in its stead where frames and styles are taken away."""

PICTURES = ("svg", "png", "pdf")
"""Suffixes of pictures."""

DPI, SCREEN_DPI = 300.0, 110.0
"""Pixels per inch of a picture that is saved, and of one in a notebook."""

MOST_ROWS = 12
"""Most tokens in the table that a notebook shows where no scripts run."""

MOST_READ = 3
"""Most keys that it lists of each."""

VIEWS = ("all", "grid", "matrix", "lines", "steps")
"""Names of the views: side by side, all heads, the selected head as a matrix, as lines, and step by step."""

HTML_ACTIONS = ("view", "return")
"""What BertViz may be asked to do; here, a page is always returned."""


class Page:
    """A standalone page of attention views; a notebook displays it as the last expression of a cell.

    Args:
        opened: What it shows, and where it opens.
        played: Payload of heads over the epochs of a training, of which `opened` is the last; None: `opened`
            is all.
    """

    def __init__(self, opened: Opened, played: bytes | None = None):
        self._opened, self._played = opened, played

    def __repr__(self):
        return f"Page({self._opened.title!r}, {self._opened.name})"

    @functools.cached_property
    def html(self) -> str:
        """The complete page; it needs no server and no network.

        Of more than four million weights, each is rounded by at most 0.0005 or a sixteenth of itself, and
        those below 0.0001 are 0.
        """
        model, title, language, attentions, labels, start = self._opened
        if self._played is not None:
            return views.page(self._played, title=title, language=language, view="epochs")
        compact = {kind: each.compact() for kind, each in attentions.items()}
        payload = views.payload_bytes(model, compact, labels)
        return views.page(payload, title=title, language=language, start=dict(start))

    @property
    def data(self) -> str:
        """The page under the name that it has in what BertViz returns."""
        return self.html

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        width: float | None = None,
        font_size: float | None = None,
        font: str | Sequence[str] | None = None,
        title: bool | None = None,
        dpi: float | None = None,
    ) -> None:
        """Write the page to a file that any browser can open, or a picture of where it opens.

        Of a training, a picture shows the last epoch.

        The suffix decides: `.html`, also without one, for the page; `.svg`, `.png` and `.pdf` for a picture
        drawn by Matplotlib, of which the other arguments tell the size:

            tv.show(trace, layer=1, head=2, view="matrix").save("figure.pdf", width=8.5, font_size=7)

        Args:
            path: The file.
            width: Width of the picture in cm, by default 12; its height follows.
            font_size: Height of the letters in points; None: 8, and less if there are many tokens.
            font: Name of an installed font to take first, or several; None: DejaVu Sans. Letters that it
                lacks are taken from other installed fonts.
            title: Whether the name of the head stands above the picture, by default True.
            dpi: Pixels per inch of a PNG, by default 300.

        Raises:
            ValueError: If the suffix is another, an argument does not belong to it, Matplotlib is not
                installed, or no font has a letter of the tokens.
        """
        form = Path(path).suffix.lower().removeprefix(".")
        options = {"width": width, "font_size": font_size, "font": font, "title": title}
        given = {name: value for name, value in options.items() if value is not None}
        if form in ("", "html", "htm"):
            if given or dpi is not None:
                raise Problem("figures.html", name=next(iter(given), "dpi"))
            Path(path).write_text(self.html, encoding="utf-8")
        elif form in PICTURES:
            _draw(self._opened, path, form, dpi or DPI, **given)
        else:
            raise Problem("figures.suffix", suffix=f".{form}")

    @property
    def _height(self):
        tokens = max(len(each.found.query_tokens) for each in self._opened.attentions.values())
        return int(np.clip(PIXELS_AROUND + PIXELS_OF_TOKEN * tokens, *HEIGHTS))

    def _repr_html_(self):
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Return the page for a notebook, with what is shown of it where no scripts run."""
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        try:
            file = io.BytesIO()
            _draw(self._opened, file, "png", SCREEN_DPI)
            bundle["image/png"] = base64.b64encode(file.getvalue()).decode()
            instead = _picture_html(self._opened, file.getvalue())
        except Problem as problem:
            instead = _table_html(self._opened, problem)
        bundle["text/html"] = FRAME.format(
            height=self._height, instead=instead, source=html.escape(self.html)
        )
        return bundle


def _draw(opened, file, form, dpi, **style):
    try:
        from transformer_viz.pictures import static  # noqa: PLC0415  Matplotlib is an extra
    except ImportError:
        raise Problem("figures.missing") from None
    static.save(file, form, opened, static.Style(**style), dpi=dpi)


def _picture_html(opened, png):
    """Return HTML with a picture of the selected head, and a line that says how to see all."""
    data = base64.b64encode(png).decode()
    said = html.escape(Words(opened.language)("notebook.picture"))
    return f'<p><img alt="{html.escape(opened.title)}" src="data:image/png;base64,{data}"></p><p>{said}</p>'


def _table_html(opened, problem):
    """Return HTML with the strongest keys of a head's first tokens, and why there is no picture."""
    words = Words(opened.language)
    numbers = numbers_of(opened.attention.found, opened.layer, opened.head)
    queries, keys = opened.attention.tokens
    rows = [_read(row, keys) for row in numbers[:MOST_ROWS]]
    head = [opened.labels["table_query"], opened.labels["table_keys"]]
    lines = [
        "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        for cells in zip(queries, rows, strict=False)
    ]
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    table = "".join(f"<tr>{line}</tr>" for line in (titles, *lines))
    said = html.escape(joined(words("notebook.table"), sentence_of(problem, opened.language)))
    about = html.escape(f"{opened.title} · {opened.name}")
    return f"<p>{about}</p><table>{table}</table><p>{said}</p>"


def _read(row, keys):
    order = np.argsort(-np.abs(np.nan_to_num(row)), kind="stable")[:MOST_READ]
    return " · ".join(f"{keys[key]} {row[key]:.3g}" for key in order if np.nan_to_num(row[key]))


def show(  # noqa: PLR0913  what is shown, how to read it, and where to begin
    attention: Trace | Comparison | AttentionByEpoch | Any = None,
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
    effects: HeadEffects | Effects | None = None,
    head_roles: HeadRoles | None = None,
    html_action: str = "return",
) -> Page:
    """Return a page with all attention views, as in the app.

    It shows a trace, two traces that are compared, the effects of all cells on an answer, the heads of a
    model over the epochs of its training, or attention weights that any program has computed:

        output = model(**inputs, output_attentions=True)  # transformers, with attn_implementation="eager"
        tv.show(output, tokenizer.convert_ids_to_tokens(inputs.input_ids[0]))

    Of an encoder-decoder, give the tokens of both texts, and the output as well, or the weights of the
    encoder, those of its decoder and the cross-attention by name; any of the three may be left out. Or give
    all of them at once, as `attention_of` returns them: `target_tokens` then tells which is which, if the two
    texts differ in length. Names of BertViz are understood, too: `encoder_attention` and `encoder_tokens` are
    `attention` and `tokens`, `decoder_attention`, `cross_attention` and `decoder_tokens` are `decoder`,
    `cross` and `target_tokens`.

    Args:
        attention: A trace, as `Explorer.trace` returns it; a comparison, as `compare` does; effects, as
            `effects` does; an `AttentionHistory`; an output of
            `transformers`, also of `generate()`; or weights of self-attention: for each layer an array of
            NumPy, PyTorch, TensorFlow or JAX, (head, query, key), also with a batch axis of 1 in front; one
            such layer, or one matrix (query, key); the steps of `generate()`; or a mapping from names to
            layers. Layers may have different numbers of heads. What a row lacks to a sum of 1 is a column.
        tokens: The tokens of the text that these weights belong to; for a trace, None; for a history of
            several inputs, a list of the tokens of each.
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
        effects: Result of `head_effects`, shown in the captions and to sort heads by; or of `effects`, shown
            as bars under the heads and as what each cell does, and opened on the head that does most. None:
            unknown.
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
    if isinstance(attention, AttentionByEpoch):
        others = {"kind": kind, "head": head, "heads": heads, "view": view.removeprefix("all")}
        others |= {"include_layers": include_layers}
        _refuse(of_arrays | {"tokens": None, "target_tokens": None, "name": None}, "show.history")
        _refuse(of_traces | others, "show.history")
        return _over_epochs(attention, tokens, target_tokens, words, layer=layer, name=name)
    if isinstance(attention, Trace):
        _refuse(of_arrays, "show.trace")
        model, title = attention.model, f"{attention.model}: {attention.text}"
        kinds, labels = (
            described(attention, words, effects=effects, head_roles=head_roles),
            words.under("lens"),
        )
    elif isinstance(attention, Comparison):
        _refuse(of_arrays | of_traces, "show.comparison")
        model, title = attention.b.model, _title(attention)
        kinds, labels = compared_attentions(attention, words), words.under("lens")
    elif isinstance(attention, Effects):
        _refuse(of_arrays | of_traces | {"name": None}, "show.effects")
        answer = words("list.comma").join(map(visible, attention.labels))
        model, title, labels = name, words("why.title", answer=answer), labels_of(words, signed=True)
        labels["values"] = labels["values"] | {"weights": words("lens.values.effects")}
        kinds = attentions_shown(cells_of(attention), words, signed=True)
    else:
        _refuse(of_traces, "show.arrays")
        found = read_kinds(attention, tokens, **read)
        start = None if sentence_b_start is None else operator.index(sentence_b_start)
        kinds = attentions_shown(found, words, signed=signed, sentence_b_start=start)
        model, title, labels = name, name or words("kind.label"), labels_of(words, signed=signed)
    _one_of("html_action", html_action, HTML_ACTIONS)
    if include_layers is not None:
        kinds = _with_layers(kinds, include_layers)
    begin = _start(kinds, kind, layer, head, heads, view)
    return Page(Opened(model, title, language, kinds, labels, begin))


def _over_epochs(history, tokens, target_tokens, words, *, layer, name):
    """Return the page of a training."""
    texts, last = watched_texts(history, tokens, target_tokens), history.attention[-1]
    first = {path: weights[:1] for path, weights in last.items()}
    found = read_kinds(first, texts[0].tokens, target_tokens=texts[0].target_tokens)
    number = len(last) - 1 if layer is None else _number("layer", layer, len(last))
    kinds = kinds_of(history, texts[0])
    start: dict[str, Any] = {"layer": kinds[:number].count(kinds[number])}
    if kinds[number] != "self":
        start["kind"] = kinds[number]
    shown, title = attentions_shown(found, words), name or words("run.forming")
    opened = Opened(name, title, words.language, shown, labels_of(words, signed=False), start)
    played = heads_by_epoch(history, texts, words, layer=number, name=name or "attention")
    return Page(opened, played)


def _title(comparison):
    """Return which texts a comparison is of, once if they are the same."""
    sides = comparison.a, comparison.b
    return " → ".join(dict.fromkeys(f"{side.model}: {side.text}" for side in sides))


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
    count = max(len(each.found.layers) for each in shown.values())
    where = sorted({_number("include_layers", layer, count) for layer in layers})
    kinds = {
        kind: each.of_layers([layer for layer in where if layer < len(each.found.layers)])
        for kind, each in shown.items()
    }
    kinds = {kind: each for kind, each in kinds.items() if each.found.layers}
    if not kinds:
        raise Problem("show.no_layers")
    return kinds


def _start(attentions, kind, layer, head, heads, view):
    """Return the selection on which the views open, as `views.page` takes it."""
    _one_of("view", view, VIEWS)
    start: dict[str, Any] = {"view": view}
    if kind is not None:
        _one_of("kind", kind, attentions)
        start["kind"] = kind
    shown = attentions[kind or list(attentions)[-1]]
    numbers = [shown.number(layer) - 1 for layer in range(len(shown.found.layers))]
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
