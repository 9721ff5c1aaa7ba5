"""The experiment of the Masks page: another mask in one kind of attention, and what it does to each head."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.explorer.growing import sized
from transformer_viz.language import Words, joined
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.named_masks import mask_from_bits, mask_to_bits, named_mask
from transformer_viz.pictures.labels import label_of, shown_tokens, written_text
from transformer_viz.text.special import PAD
from transformer_viz.trace.masking import blocked_rows, future_share, padding_share
from transformer_viz.trace.request import UNCHANGED, Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.workbench.asked import Asked
from transformer_viz.ui.workbench.experiment import Ask, Experiment, Found, Menu, group, number_in, slider
from transformer_viz.ui.workbench.said import plain

CHOICES = ("own", "causal", "padding", "window", "none", "painted")
"""All masks, in the order in which they are offered."""

UNORDERED = ("own", "padding", "none", "painted")
"""Those for cross-attention, where keys do not precede or follow queries."""

MAX_PAINTED = 32
"""Maximum number of tokens of a painted mask: its bits must fit into an address."""

MAX_PADDING = 12
"""Maximum number of appended [PAD]."""

FIRST_PADDING = 4
"""Number of [PAD] that the padding mask hides unless another is chosen."""

MAX_REACH = 16
"""Largest radius of a window."""

WAYS = ("sums", "same", "little", "blocked", "not_blocked")
"""Names of the sentences on two ways to mask."""

MIN_SHARE = 0.0005
"""Smallest share that does not round to 0.0%."""

MIN_CHANGE = 0.001
"""Smallest change of a probability that is shown."""


class Side(NamedTuple):
    """One run: name of its mask, kind of attention that has it, request, trace."""

    name: str
    kind: str
    request: Request
    trace: Trace

    @property
    def writes_target(self) -> bool:
        """Whether the queries are tokens of an encoder-decoder's target."""
        return self.kind != "encoder" and bool(self.trace.encoder)

    @property
    def key_ids(self) -> np.ndarray:
        """Token ids of the keys: int32 (key,)."""
        of_target = self.writes_target and self.kind != "cross"
        return self.trace.target_ids if of_target else self.trace.token_ids

    @property
    def has_bias(self) -> bool:
        """Whether the scores hold a relative position bias."""
        values = self.trace.values
        bias = values.target_position_bias if self.writes_target else values.position_bias
        return self.kind != "cross" and bias is not None

    def mask_of(self, layer: int) -> np.ndarray:
        """Return the mask of the attention of one layer: bool (query, key)."""
        found = self.trace.kinds()[self.kind]
        shape = len(found.query_tokens), len(found.key_tokens)
        return np.broadcast_to(found.mask_of(layer)[0], (1, *shape))[0]

    def equals(self, other: "Side") -> bool:
        """Return whether the other run has the same mask in all layers."""
        layers = range(len(self.trace.kinds()[self.kind].layers))
        return all(np.array_equal(self.mask_of(layer), other.mask_of(layer)) for layer in layers)


class Choice(NamedTuple):
    """The chosen mask and padding, as far as the text and the model allow.

    Attributes:
        kind: One of `CHOICES`.
        reach: Radius of a window.
        causal: Whether a padding mask or a window also hides later keys.
        padding: Number of appended [PAD].
    """

    kind: str
    reach: int
    causal: bool
    padding: int

    @property
    def name(self) -> str | None:
        """Name for `named_mask`; None for the model's own and painted masks."""
        if self.kind in ("own", "painted"):
            return None
        name = f"window:{self.reach}" if self.kind == "window" else self.kind
        return f"{name}+causal" if self.causal else name


def masks(asked: Asked, given: Mapping[str, str], ask: Ask) -> Experiment:
    """Return the run with the chosen mask beside that with the model's own, or with none if they are equal.

    Args:
        asked: The text and its target, whose changes are left out.
        given: kind: of the attention that is masked; mask, reach, causal, pads, bits: the choice.
        ask: Asks the engine.
    """
    words, config = Words(asked.language), config_of(asked.model)
    base = dataclasses.replace(asked.request, changes=UNCHANGED)
    unchanged: Trace = ask(base)
    kinds = unchanged.kinds()
    kind = given.get("kind", "") if given.get("kind", "") in kinds else [*kinds][-1]
    choice, menu = _choice(words, config, unchanged, kind, given)
    field, padding = _fields(config, kind)
    fixed = _with_target_of(config, base, unchanged)
    fixed = _with(fixed, padding, choice.padding)
    own = Side("own", kind, fixed, ask(fixed))
    bits = _bits(given, choice, own)
    name = f"painted:{bits}" if choice.kind == "painted" else choice.name
    chosen = own if name is None else _side(choice.kind, kind, _with(fixed, field, name), ask)
    other = own if not chosen.equals(own) else _side("none", kind, _with(fixed, field, "none"), ask)
    if choice.kind == "painted":
        menu.kept["bits"] = bits
    said = {
        "of": kind,
        "painted": words("masks.paint_alt") if choice.kind == "painted" else "",
        "bits": mask_to_bits(chosen.mask_of(0)),
        "titles": _titles(words, chosen, other),
        "ways": {name: words.sentences[f"masks.ways_{name}"] for name in WAYS},
    }
    tip = words("masks.prediction_help")
    notes = [{"said": each, "tip": tip} for each in _notes(words, config, base, chosen, other, ask)]
    both = asked._replace(request=chosen.request, before=other.request, looks=(), ablates=False)
    found, captions = Found(chosen.trace, other.trace), {kind: _captions(words, chosen, other)}
    there = _there(config, base, unchanged, both, ask)
    return Experiment(both, found, menu, said, captions, notes, there)


def _there(config, base: Request, unchanged: Trace, both: Asked, ask: Ask) -> Asked | None:
    """Return both runs as the Attention page asks them; None: it cannot.

    An encoder-decoder writes its target there. A mask that fits one length of the target needs it as a text,
    which may be tokenized otherwise.
    """
    target, sides = base.target, (both.request, both.before or both.request)
    if target is None and unchanged.target_ids.size and any(sized(config, each.changes) for each in sides):
        target = unchanged.target_text
        found: Trace = ask(dataclasses.replace(base, target=target))
        if not np.array_equal(found.target_ids, unchanged.target_ids):
            return None
    request, before = (dataclasses.replace(each, target=target) for each in sides)
    return both._replace(request=request, before=before)


def _choice(words, config, trace, kind, given: Mapping[str, str]) -> tuple[Choice, Menu]:
    """Return the choice, and the menu that offers it and others."""
    found, ordered = trace.kinds()[kind], kind != "cross"
    size, room = max(len(found.query_tokens), len(found.key_tokens)), _room(config, trace, kind)
    offered = [
        each for each in (CHOICES if ordered else UNORDERED) if each != "painted" or size <= MAX_PAINTED
    ]
    first = "causal" if ordered else "padding"
    mask = given.get("mask", "") if given.get("mask", "") in offered else first
    most = max(0, min(MAX_PADDING, room, MAX_PAINTED - size if mask == "painted" else room))
    usual = min(FIRST_PADDING, most) if mask == "padding" else 0
    padding = number_in(given, "pads", 0, most, usual)
    widest = max(min(size - 1, MAX_REACH), 1)
    reach = number_in(given, "reach", 0, widest, 1)
    may_be_causal = ordered and mask in ("padding", "window")
    causal = may_be_causal and given.get("causal", "") not in ("", "0")
    kept = {
        "mask": "" if mask == first else mask,
        "pads": "" if padding == usual else str(padding),
        "reach": "" if mask != "window" or reach == 1 else str(reach),
        "causal": "1" if causal else "",
    }
    options = {each: words(f"masks.kind_{each}") for each in offered}
    groups = [group("mask", words("masks.mask"), words("masks.mask_help"), options, mask)]
    sliders, switches = [], []
    if most:
        texts = words("masks.padding"), words("masks.padding_help")
        sliders.append(slider("pads", *texts, (0, most), padding))
    if mask == "window" and widest > 1:
        sliders.append(slider("reach", words("masks.reach"), words("masks.reach_help"), (0, widest), reach))
    if may_be_causal:
        texts = {"label": words("masks.causal"), "tip": words("masks.causal_help")}
        switches.append({"name": "causal", "on": causal, **texts})
    note = words("masks.too_long_to_paint", most=MAX_PAINTED, size=size) if size > MAX_PAINTED else ""
    return Choice(mask, reach, causal, padding), Menu(kept, groups, sliders, switches, note=note)


def _room(config, trace, kind):
    """Return how many [PAD] the model can take after the tokens of the keys."""
    if kind == "decoder" and trace.encoder:
        return (config.target_max_len or config.max_len) - len(trace.target_ids)
    return config.max_len - len(trace.token_ids)


def _fields(config, kind):
    """Return the fields of `Changes` for the mask of an attention and the padding of its keys."""
    if kind == "cross":
        return "cross_attention_mask", "padding"
    if kind == "decoder" and config.architecture == "encoder-decoder":
        return "target_attention_mask", "target_padding"
    return "attention_mask", "padding"


def _with_target_of(config: TransformerConfig, request: Request, trace: Trace) -> Request:
    """Return the request with the target that was written to it, on which all masks are compared."""
    if request.target is not None or not trace.target_ids.size:
        return request
    start = len(config.target_start or ())
    return dataclasses.replace(request, target=tuple(trace.target_ids[start:].tolist()))


def _bits(given: Mapping[str, str], choice: Choice, own: Side) -> str:
    """Return the bits of the painted mask: those that are given if they fit, else of a causal mask; of the
    model's own where queries and keys are other tokens.
    """
    mask = own.mask_of(0)
    try:
        mask_from_bits(given.get("bits", ""), mask.shape)
    except ValueError:
        return mask_to_bits(named_mask("causal", len(mask), own.key_ids) if own.kind != "cross" else mask)
    return given["bits"]


def _with(request: Request, field: str, value: Any) -> Request:
    """Return a copy of a request with a field of `Changes` changed."""
    change: dict[str, Any] = {field: value}
    return request.changed(**change)


def _side(name, kind, request, ask):
    return Side(name, kind, request, ask(request))


def _titles(words, chosen, other):
    """Return the titles of the matrices, each with its formula."""
    is_capped = chosen.trace.values.score_cap is not None
    scores = "c tanh(QKᵀ / (c √dₖ))" if is_capped else "QKᵀ / √dₖ"
    bias = " + B" if chosen.has_bias else ""
    formulas = {
        "scores": f"s = {scores}{bias}",
        "mask": "M ∈ {0, 1}",
        "masked": "s + ln M",
        "softmax": "softmax(s + ln M)",
        "added": "softmax(s − 10⁹ (1 − M))",
        "multiplied": "softmax(s) ⊙ M",
    }
    titles = {name: f"{words(f'masks.panel_{name}')}: {formula}" for name, formula in formulas.items()}
    sides = {"before": ("other", other), "matrix": ("with", chosen)}
    return titles | {
        name: words(f"masks.panel_{key}", mask=words(f"masks.name_{side.name}"))
        for name, (key, side) in sides.items()
    }


def _captions(words, chosen, other):
    """Return for each head what the mask does to its weight on padding and on later tokens."""
    found, former = (side.trace.kinds()[chosen.kind] for side in (chosen, other))
    are_padding = [
        np.array([token == PAD for token in side], bool) for side in (found.query_tokens, found.key_tokens)
    ]
    captions = []
    for number, (layer, before) in enumerate(zip(found.layers, former.layers, strict=True)):
        masks_here = [side.mask_of(number) for side in (chosen, other)]
        blocked = _blocked(words, masks_here, other)
        pairs = zip(layer.weights, before.weights, strict=True)
        meters = (_meters(words, pair, are_padding, other, ordered=chosen.kind != "cross") for pair in pairs)
        captions.append([joined(*each, *blocked).replace("**", "") for each in meters])
    return captions


def _meters(words, weights, are_padding, other, *, ordered):
    """Yield the shares of a head's weight on [PAD] and on later tokens, with both masks."""
    rows, columns = are_padding
    shares = {"padding": [padding_share(each, rows, columns) for each in weights]}
    if ordered:
        shares["future"] = [future_share(each[~rows]) for each in weights]
    named = words(f"masks.name_{other.name}")
    for name, (now, before) in shares.items():
        if max(now, before) >= MIN_SHARE:
            facts = {"share": f"{now:.1%}", "other": f"{before:.1%}", "other_mask": named}
            yield words(f"masks.meter_{name}", **facts)


def _blocked(words, masks_here, other):
    """Return how many rows are masked entirely, if any is."""
    counts = [len(blocked_rows(mask, mask.shape)) for mask in masks_here]
    if not any(counts):
        return []
    facts = {"count": counts[0], "other": counts[1], "total": len(masks_here[0])}
    return [words("masks.meter_blocked", **facts, other_mask=words(f"masks.name_{other.name}"))]


def _notes(words, config, base, chosen, other, ask):
    """Return what the mask does to the predictions of a model of tokens, and to what one writes."""
    if chosen.equals(other):
        return [words("masks.hides_nothing")]
    notes = []
    if chosen.trace.labels and chosen.trace.probs.ndim == 2:
        notes.append(_most_changed(words, chosen.trace, other.trace.probs))
    if base.target is None and chosen.trace.target_ids.size:
        notes += _written(words, config, chosen, other, ask)
    return notes


def _most_changed(words, trace, before):
    """Return at how many places another token is predicted, and where most has changed."""
    after, real = trace.probs, np.flatnonzero(trace.is_real)
    # One row after the other: a whole matrix of a large vocabulary has 80 MB.
    rows = (np.abs(before[row] - after[row]) for row in real)
    largest, sums = np.array([(row.max(), row.sum()) for row in rows]).T
    if largest.max() < MIN_CHANGE:
        return words("masks.prediction_same")
    tokens = trace.target_tokens if trace.encoder and trace.decoder else trace.tokens
    differs = (before.argmax(axis=-1) != after.argmax(axis=-1))[real]
    position = real[np.where(differs | ~differs.any(), sums, -1).argmax()]
    one, two = before[position], after[position]
    old, new = int(one.argmax()), int(two.argmax())
    becomes = "changes" if differs.any() else "stays"
    return words(
        f"masks.writing_{becomes}" if trace.decoder else f"masks.filling_{becomes}",
        count=int(differs.sum()),
        total=len(real),
        old=plain(label_of(trace, old)),
        token=plain(shown_tokens(tokens)[position]),
        new=plain(label_of(trace, new)),
        before=f"{one[old]:.1%}",
        after=f"{two[new]:.1%}",
    )


def _written(words, config, chosen, other, ask):
    """Return what an encoder-decoder writes with each of the two masks.

    Nothing if a painted mask has the size of the target at hand and fits no other.
    """
    if any(sized(config, side.request.changes) for side in (chosen, other)):
        return []
    text, former = (
        plain(written_text(ask(dataclasses.replace(side.request, target=None)))) for side in (chosen, other)
    )
    if text == former:
        return [words("masks.writes_same", text=text)]
    named = {"mask": words(f"masks.name_{chosen.name}"), "other_mask": words(f"masks.name_{other.name}")}
    return [words("masks.writes", text=text, other=former, **named)]
