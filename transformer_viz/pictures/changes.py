"""The menu of changes to a run, and the chips that undo those in force."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_viz.language import Words
from transformer_viz.network.config import CHOICES, TransformerConfig
from transformer_viz.pictures.labels import axis_tokens
from transformer_viz.text.unicode import visible
from transformer_viz.trace.interventions import ATTENTION_KINDS, PATTERNS, attention_kinds
from transformer_viz.trace.request import OWN, UNCHANGED, Changes, Request
from transformer_viz.trace.trace import Trace

MOST_CHIPS = 4
"""Heads or edges with a chip each; more of them share one."""

MASK_FIELDS = ("attention_mask", "target_attention_mask", "cross_attention_mask")
"""Fields of `Changes` with a mask."""

EDGES = ("mute", "cut")
"""Fields of `Changes` with cells: after the softmax, and before it."""

FOR_ALL = (
    "leave_out",
    *("scaling", "residual", "positions", "order", "shift"),
    *(*MASK_FIELDS, "padding", "target_padding", "reference"),
)
"""Fields of `Changes` that hold for all heads, in the order of their chips."""

PADDING = 10
"""Number of [PAD] that can be appended."""

SHIFT = 5
"""Number of places by which all positions can be shifted."""

ORDERS = ("reversed", "shuffled")
"""Orders in which the tokens of the text can be read."""

MASKS = ("none", "causal", "window:1")
"""Masks over the text that can take the place of the model's own."""

HEAD, EDGE = 2, 4
"""Numbers of a head: layer and head, and of an edge: query and key too."""

ORDER_NAME = re.compile(r"reversed|shuffled(:\d{1,6})?")
"""Orders that have a chip: *Positions* shuffles by a seed."""

MASK_NAME = re.compile(r"(none|padding|causal|window:\d{1,3})(\+causal)?|painted:[0-9a-f]{1,256}")
"""Masks that have a chip: *Masks* has wider windows, hides padding, and paints."""


def acts_of(
    words: Words, config: TransformerConfig, request: Request, before: Request | None, trace: Trace
) -> dict[str, Any]:
    """Return the changes that the views offer, and those in force; `acted` carries out an "act".

    Args:
        words: Sentences of the visitor's language.
        config: Config of the model.
        request: What is shown.
        before: What it is compared with; None: nothing.
        trace: The answer to the request.

    Returns:
        title: name of the menu. heads: changes of the chosen head, each with its name, its label and the
        heads ("encoder-3", counted over all layers) that it is made to. edges, no_edge: changes of the chosen
        cell, each with its name and its label, and what stands there without one. groups: others, each with a
        title and choices. chips: each with a text and an act. compare: button with a label and an act.
    """
    changes = request.changes
    label, do = (words("change.end"), "end") if before else (words("change.compare"), "compare")
    return {
        "title": words("change.menu"),
        "this_head": words("change.this_head"),
        "heads": [
            {"name": "ablate", "label": words("change.off"), "among": _keys(config, changes.ablate)},
            *(
                {
                    "name": pattern,
                    "label": words(f"change.{pattern}"),
                    "among": _keys(config, [head for head, is_now in changes.patterns if is_now == pattern]),
                }
                for pattern in PATTERNS
            ),
        ],
        "edges": [
            {"name": name, "label": words(f"change.{name}_edge", query="{query}", key="{key}")}
            for name in EDGES
        ],
        "no_edge": words("change.no_edge"),
        "groups": groups_of(words, config, changes, len(trace.tokens)),
        "chips": chips_of(words, config, request, before, trace),
        "compare": {"label": label, "act": {"do": do}},
    }


def chips_of(
    words: Words, config: TransformerConfig, request: Request, before: Request | None, trace: Trace
) -> list[dict[str, Any]]:
    """Return the changes in force, each with a text and the act that takes it back; arguments as for
    `acts_of`. Of several, the last takes back all.
    """
    chips = [*_text_chips(words, request, before), *_chips(words, config, request.changes, trace)]
    if len(chips) > 1:
        chips.append({"text": words("change.undo_all"), "act": {"do": "undo_all"}})
    return chips


def acted(config: TransformerConfig, changes: Changes, act: Mapping[str, Any]) -> Changes:
    """Return the changes after an act of the visitor.

    Args:
        config: Config of the model.
        changes: Those in force.
        act: "do" is "head" (toggle: name, kind, layer, head), "edge" (name, kind, layer, head, query, key),
            "set" (name, value), "leave_out" (toggle: tokens) or "undo" (name; of heads and edges also value,
            one of them).
    """
    first, name = attention_kinds(config)[0], act.get("name", "")
    given: dict[str, Any]
    match act["do"]:
        case "head":
            head = _place(first, act["kind"], act["layer"], act["head"])
            others = tuple((each, pattern) for each, pattern in changes.patterns if each != head)
            is_on = (head, name) in changes.patterns
            patterns = others if is_on else (*others, (head, name))
            ablated = {"ablate": _toggled(changes.ablate, head)}
            given = ablated if name == "ablate" else {"patterns": patterns}
        case "edge":
            edge = _place(first, act["kind"], act["layer"], act["head"], act["query"], act["key"])
            given = {name: tuple(dict.fromkeys((*getattr(changes, name), edge)))}
        case "leave_out":
            given = {"leave_out": tuple(sorted({*changes.leave_out} ^ {*act["tokens"]}))}
        case "undo" if act.get("value") is not None:
            gone = getattr(dataclasses.replace(UNCHANGED, **{name: [act["value"]]}), name)  # as tuples
            given = {name: tuple(each for each in getattr(changes, name) if each not in gone)}
        case _:
            value = act.get("value")  # of "undo" None, too: the model's own
            given = {name: getattr(UNCHANGED, name) if value is None else value}
    return dataclasses.replace(changes, **given)


def is_offered(changes: Changes) -> bool:
    """Return whether these are changes that the views offer, with a chip each: a link may hold any others.

    A head or an edge may be one that the model does not have.
    """
    return (
        all(_is_place(head, HEAD) for head in changes.ablate)
        and all(_is_ffn(layer) for layer in changes.ablate_ffn)
        and all(_is_place(edge, EDGE) for name in EDGES for edge in getattr(changes, name))
        and all(_is_place(head, HEAD) and name in PATTERNS for head, name in _pairs(changes.patterns))
        and _is_named(ORDER_NAME, changes.order)
        and all(_is_named(MASK_NAME, getattr(changes, name)) for name in MASK_FIELDS)
        and {"ablate", "ablate_ffn", *EDGES, "patterns", *FOR_ALL}.issuperset(changes.changed_fields)
        and isinstance(changes.positions, str | None)
        and changes.reference in ((), OWN)
        and all(type(count) is int and count >= 0 for count in (changes.padding, changes.target_padding))
        and all(type(place) is int and place >= 0 for place in changes.leave_out)
        and changes.shift in (0, SHIFT)
    )


def _is_place(place, count):
    """Return whether this is a head or an edge as `Changes` has them, of so many numbers."""
    if not isinstance(place, tuple):
        return False
    numbers = place[1:] if place and place[0] in ATTENTION_KINDS else place
    return len(numbers) == count and all(type(number) is int and number >= 0 for number in numbers)


def _is_ffn(place):
    """Return whether this is a feed-forward layer as `Changes` has it."""
    stack, number = place if isinstance(place, tuple) and len(place) == 2 else ("encoder", place)
    return stack in ("encoder", "decoder") and type(number) is int and number >= 0


def _pairs(values):
    """Return values as pairs, those of another form as a pair of nothing."""
    return [value if isinstance(value, tuple) and len(value) == 2 else (None, None) for value in values]


def _is_named(pattern, value):
    return value is None or (isinstance(value, str) and bool(pattern.fullmatch(value)))


def other_positions(config: TransformerConfig) -> list[str]:
    """Return the kinds of position encoding a model can add instead of its own; none if it adds none."""
    if config.positions_in_attention:
        return []
    longest = max(config.max_len, config.target_max_len or 0) + config.padding_position
    fits = {
        "one-hot": longest <= config.embedding_dim,
        "sinusoidal": config.embedding_dim % 2 == 0,
        "sinusoidal-halves": config.embedding_dim % 2 == 0,
    }
    return [kind for kind in reversed(CHOICES["positions"]) if fits.get(kind) and kind != config.positions]


def groups_of(words: Words, config: TransformerConfig, changes: Changes, tokens: int) -> list[dict[str, Any]]:
    """Return the choices that hold for all heads.

    Args:
        words: Sentences of the visitor's language.
        config: Config of the model.
        changes: Those in force.
        tokens: Number of tokens of the text.

    Returns:
        Groups, each with a title and choices: a label, the act that sets it, and whether it is in force.
    """
    positions = ["none", *other_positions(config)] if config.positions != "none" else other_positions(config)
    options: dict[str, list[tuple[Any, str]]] = {
        "scaling": [(None, words("change.scaled")), (False, words("change.unscaled"))],
        "residual": [(None, words("change.added")), (False, words("change.not_added"))],
        "positions": [(None, words("change.own"))] + [(kind, _encoding(words, kind)) for kind in positions],
        "order": [(None, words("change.typed"))]
        + [(order, words(f"change.chip.order.{order}")) for order in ORDERS],
        "shift": [(None, words("change.unshifted")), (SHIFT, words("change.shifted", count=SHIFT))],
        **{
            name: [(None, words("change.own"))]
            + [(mask, words(f"change.mask.{mask.partition(':')[0]}")) for mask in MASKS if mask != own]
            for name, own in _own_masks(config).items()
        },
        "padding": [(None, words("change.unpadded")), (PADDING, words("change.chip.padding", count=PADDING))],
        "reference": [(None, words("change.zero")), (OWN, words("change.mean"))],
    }
    fits = {
        "residual": config.residual,
        "order": changes.order or tokens > 2,
        "shift": changes.shift or (config.positions != "none" and tokens + SHIFT <= config.max_len),
        "padding": changes.padding or tokens + PADDING <= config.max_len,
        "reference": changes.ablate,
    }
    in_force = {name: getattr(changes, name) if name in changes.changed_fields else None for name in options}
    return [
        {
            "title": words(f"change.{name}"),
            "choices": [
                {
                    "label": label,
                    "act": {"do": "set", "name": name, "value": value},
                    "pressed": value == in_force[name],
                }
                for value, label in choices
            ],
        }
        for name, choices in options.items()
        if fits.get(name, True)
    ]


def _encoding(words, kind):
    return words(f"positions.kind.{kind.replace('-', '_')}")


def _own_masks(config):
    """Return the fields of the masks that the menu changes, each with the name of the model's own mask."""
    if config.architecture == "encoder-decoder":
        return {"attention_mask": None, "target_attention_mask": "causal"}
    return {"attention_mask": "causal" if config.causal else None}


def _chips(words, config, changes, trace):
    """Yield a chip for each change in force."""

    def few(field, text_of, text_of_all):
        values = getattr(changes, field)
        if len(values) > MOST_CHIPS:
            yield _chip(text_of_all(len(values)), field)
        else:
            yield from (_chip(text_of(value), field, value) for value in values)

    def ablated(head):
        return words("change.chip.ablate", head=_head_name(words, config, head))

    def without_ffn(layer):
        stack, number = layer if isinstance(layer, tuple) else (next(iter(config.stacks)), layer)
        name = "change.chip.ablate_ffn" if len(config.stacks) == 1 else f"change.chip.ablate_ffn.{stack}"
        return words(name, layer=number + 1)

    def patterned(each):
        name = _head_name(words, config, each[0])
        return words("change.chip.pattern", head=name, pattern=words(f"change.{each[1]}"))

    def all_patterns(count):
        kinds = [words(f"change.{kind}") for kind in PATTERNS if kind in dict(changes.patterns).values()]
        return words("change.chip.patterns", count=count, patterns=words("list.comma").join(kinds))

    yield from few("ablate", ablated, lambda count: words("change.chip.heads", count=count))
    yield from few("ablate_ffn", without_ffn, lambda count: words("change.chip.ffns", count=count))
    yield from few("patterns", patterned, all_patterns)
    for field in EDGES:
        name = f"change.chip.{field}"
        yield from few(
            field,
            lambda edge, name=name: words(name, **_named_edge(words, config, trace, edge)),
            lambda count, name=name: words(f"{name}_edges", count=count),
        )
    for name in FOR_ALL:
        value = getattr(changes, name)
        if value != getattr(UNCHANGED, name) and (name != "reference" or changes.ablate):
            yield _chip(_setting_text(words, name, value, trace), name)


def _named_edge(words, config, trace, edge):
    """Return the names of the head, the query and the key of an edge, by number if the text lacks them."""
    kind, (*head, query, key) = _split(config, edge)
    sides = trace.kinds()[kind].query_tokens, trace.kinds()[kind].key_tokens
    rows, columns = (axis_tokens(trace, tokens) for tokens in sides)
    inside = query < len(rows) and key < len(columns)
    pair = {"query": visible(rows[query]), "key": visible(columns[key])} if inside else {}
    name = _head_name(words, config, (kind, *head))
    return {"head": name, **(pair or {"query": query + 1, "key": key + 1})}


def _setting_text(words, name, value, trace):
    """Return the text of the chip of a change that holds for all heads."""
    if name == "leave_out":
        return words("change.chip.leave_out", words=_left_out(words, value, trace))
    if name == "positions":
        return words("change.chip.positions", kind=_encoding(words, value))
    if name in MASK_FIELDS:
        return words(f"change.chip.{name}", mask=words("list.comma").join(_mask_names(words, value)))
    if name == "order":
        return words(f"change.chip.order.{value.partition(':')[0]}")
    return words(f"change.chip.{name}", count=value)


def _left_out(words, places, trace):
    """Return what the tokens that are left out were in the text, those of a word as one."""
    offsets, spans = sorted(trace.offsets), []  # sorted, if the tokens are read in another order
    for start, end in (offsets[place] for place in places if place < len(offsets)):
        begin = spans.pop()[0] if spans and spans[-1][1] == start else start
        spans.append((begin, end))
    return words("list.comma").join(f"“{visible(trace.text[slice(*span)])}”" for span in spans)


def _mask_names(words, mask):
    """Yield the name of each part of a mask."""
    for part in mask.split("+"):
        name, _, reach = part.partition(":")
        wide = name == "window" and reach != "1"
        yield words("change.mask.wide", count=int(reach)) if wide else words(f"change.mask.{name}")


def _text_chips(words, request, before):
    """Yield a chip if the text, or its target, is another than before."""
    if before is None:
        return
    asked, former = (request.text, request.target), (before.text, before.target)
    if request.model == before.model and asked != former:
        yield {"text": words("change.chip.text"), "act": {"do": "undo", "name": "text"}}
    if request.model != before.model:
        text = words("change.chip.model", model=request.model)
        yield {"text": text, "act": {"do": "undo", "name": "model"}}


def _chip(text, name, value=None):
    return {"text": text, "act": {"do": "undo", "name": name, "value": value}}


def _place(first, kind, *numbers):
    """Return a head or edge as `Changes` has it: the kind of attention in front unless it is the first."""
    return numbers if kind == first else (kind, *numbers)


def _split(config, place) -> tuple[str, Sequence[int]]:
    """Return kind of attention and numbers of a head or edge."""
    if isinstance(place[0], str):
        return place[0], place[1:]
    return attention_kinds(config)[0], place


def _keys(config, heads):
    """Return heads as "encoder-3", counted over all layers."""
    split = (_split(config, head) for head in heads)
    return [f"{kind}-{layer * config.num_heads + head}" for kind, (layer, head) in split]


def _head_name(words, config, head):
    kind, (layer, number) = _split(config, head)
    name = words("heads.title", layer=layer + 1, head=number + 1)
    if len(attention_kinds(config)) == 1:
        return name
    return words("change.of_kind", kind=words(f"kind.{kind}"), head=name)


def _toggled(heads, head):
    return tuple(each for each in heads if each != head) if head in heads else (*heads, head)
