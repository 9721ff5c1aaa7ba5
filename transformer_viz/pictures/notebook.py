"""The attention views in a notebook or as a standalone HTML file."""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_viz.language import Problem, Words
from transformer_viz.pictures import views
from transformer_viz.pictures.arrays import kind_of, payload_of_attentions
from transformer_viz.pictures.lens import payload_of
from transformer_viz.values.attention_arrays import by_kind, read_attention
from transformer_viz.values.effects import HeadEffects
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.tensors import Attentions
from transformer_viz.values.trace import Trace

HEIGHT = 820
"""Height of a page in a notebook, in pixels."""


@dataclass(frozen=True)
class Page:
    """A standalone page of attention views; a notebook displays it as the last expression of a cell.

    Attributes:
        html: The complete page; it needs no server and no network.
    """

    html: str

    def __repr__(self):
        return f"Page({len(self.html):,} characters of HTML)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file that any browser can open."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        source = html.escape(self.html)
        return f'<iframe style="width: 100%; height: {HEIGHT}px; border: 0" srcdoc="{source}"></iframe>'


def show(  # noqa: PLR0913  the weights of an encoder-decoder are three
    shown: Trace | Any = None,
    tokens: Sequence[str] | None = None,
    *,
    decoder: Any = None,
    cross: Any = None,
    target_tokens: Sequence[str] | None = None,
    name: str = "",
    language: str = "en",
    effects: HeadEffects | None = None,
    head_roles: HeadRoles | None = None,
    **start: str | int,
) -> Page:
    """Return a page with all attention views, as in the app.

    It shows a trace, or attention weights that any other program has computed:

        output = model(**inputs, output_attentions=True)  # a model of `transformers`
        tv.show(output.attentions, tokenizer.convert_ids_to_tokens(inputs.input_ids[0]))

    Of an encoder-decoder, give the weights of the encoder first, then those of its decoder and the
    cross-attention by name; any of the three may be left out. Or give all of them at once, as `attention_of`
    returns them: `target_tokens` then tells which is which, if the two texts differ in length.

    Args:
        shown: A trace, as `Explorer.trace` returns it; or weights of self-attention: for each layer an array
            of NumPy, PyTorch, TensorFlow or JAX, (head, query, key), also with a batch axis of 1 in front; or
            a mapping from names to them. Layers may have different numbers of heads.
        tokens: The tokens of the text that these weights belong to; for a trace, None.
        decoder: Weights of the self-attention of an encoder-decoder's decoder.
        cross: Weights of the cross-attention, from `target_tokens` to `tokens`.
        target_tokens: The tokens of the decoder of an encoder-decoder.
        name: Name of the model, for the title; of a trace it is known.
        language: "en" or "zh".
        effects: Result of `head_effects`, shown in the captions and to sort heads by; None: unknown.
        head_roles: What the model's heads usually do, `explorer.head_roles`; None: unknown.
        **start: Initial selection: kind ("encoder", "decoder", "cross"), layer and head, 0-based, view
            ("grid", "matrix", "lines", "steps").

    Raises:
        ValueError: If there is no such language, or the arrays are no attention weights of these tokens.
    """
    words = Words(language)
    if isinstance(shown, Trace):
        payload = payload_of(shown, words, effects=effects, head_roles=head_roles)
        title = f"{shown.model}: {shown.text}"
    else:
        found = _read(shown, tokens, decoder, cross, target_tokens)
        payload, title = payload_of_attentions(found, words, name), name or words("kind.label")
    return Page(views.page(payload, title=title, language=language, start=start))


def _read(attention, tokens, decoder, cross, target_tokens) -> dict[str, Attentions]:
    """Return kind of attention -> the weights that are given."""
    found = {}
    if attention is not None and target_tokens is not None and decoder is None and cross is None:
        each = by_kind(attention, _given("tokens", tokens), target_tokens)
        attention, decoder, cross = (each.get(kind) for kind in ("encoder", "decoder", "cross"))
    if attention is not None:
        weights = read_attention(attention, *(_given("tokens", tokens),) * 2)
        is_alone = decoder is None and cross is None
        found[kind_of(weights) if is_alone else "encoder"] = weights
    if decoder is not None:
        found["decoder"] = read_attention(decoder, *(_given("target_tokens", target_tokens),) * 2)
    if cross is not None:
        sides = _given("target_tokens", target_tokens), _given("tokens", tokens)
        found["cross"] = read_attention(cross, *sides, is_self=False)
    if not found:
        raise Problem("arrays.none")
    return found


def _given(name, tokens):
    if tokens is None:
        raise Problem("arrays.no_tokens", name=name)
    return tokens
