"""Why an answer: what each word does to it, the sentence with the strongest, and what else can be asked."""

import math
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.language import Words, joined
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.compared import measured_heads, placed_effects
from transformer_viz.pictures.effects import signed
from transformer_viz.pictures.labels import label_of
from transformer_viz.pictures.views import Arrays, effect_arrays, packed, run_of
from transformer_viz.pictures.why import LEAST, NUMBER_FROM, full_colour, measured_text, why_text
from transformer_viz.questions.effects.removed import removed
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.questions.effects.result import Effects
from transformer_viz.text.special import PAD
from transformer_viz.text.unicode import visible
from transformer_viz.trace.comparison import Comparison
from transformer_viz.trace.top_tokens import is_whole
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.card_facts import agreements_of, config_of
from transformer_viz.ui.workbench.asked import Asked
from transformer_viz.ui.workbench.said import plain

HEAD = 2
"""Numbers that name a head: layer and head."""

FEWEST = 2
"""Fewest labels of which one can be chosen."""

MOST_OFFERED = 12
"""Most labels that are offered, the likeliest."""

MOST_CELLS = 10_000_000
"""Most attention weights of a text that is explained: each takes 16 bytes while they are differentiated."""


class About(NamedTuple):
    """Which answer is explained, as in `EffectsRequest`; None: as there."""

    answer: str | int | None = None
    versus: str | None = None
    position: int | None = None


AS_USUAL = About()


def asks_why(config: TransformerConfig, trace: Trace) -> bool:
    """Return whether there is an answer: a masked language model has none whose text hides nothing."""
    return bool(trace.labels) and not (config.fills_in and not len(trace.gaps))


def why_not(words: Words, trace: Trace) -> str:
    """Return why an answer cannot be explained; "": it can."""
    cells = sum(layer.weights.size for found in trace.kinds().values() for layer in found.layers)
    if cells <= MOST_CELLS:
        return ""
    return words("why.too_long", most=f"{MOST_CELLS:,}", count=f"{cells:,}")


def about_of(given: Any, config: TransformerConfig, trace: Trace) -> About:
    """Return which answer a browser asks about; a place or a class that there is not counts as none.

    Any token can be typed; where several places answer at once, none is asked about.
    """
    if not isinstance(given, dict):
        return AS_USUAL
    places = {str(place): place for place in places_of(config, trace)}
    position = places.get(str(given.get("at")))
    if row_of(config, trace, position) is None:
        return About(position=position)
    answers = (given.get(name) or None for name in ("about", "rather"))
    known = (each if config.predicts_tokens or each in trace.labels else None for each in answers)
    return About(*known, position=position)


def places_of(config: TransformerConfig, trace: Trace) -> dict[int, str]:
    """Return position -> token of those that an answer of tokens can be asked about; none of a class."""
    if not config.predicts_tokens:
        return {}
    tokens = trace.target_tokens if trace.encoder and trace.decoder else trace.tokens
    if config.fills_in:
        return {int(place): tokens[place] for place in trace.gaps} if len(trace.gaps) > 1 else {}
    return {place: token for place, token in enumerate(tokens) if place and token != PAD}


def row_of(config: TransformerConfig, trace: Trace, position: int | None) -> int | None:
    """Return the row of the probabilities that answers; None: several do."""
    if not config.predicts_tokens:
        return 0
    if position is not None:
        return position if config.fills_in else position - 1
    if config.fills_in:
        return int(trace.gaps[0]) if len(trace.gaps) == 1 else None
    return None if trace.encoder else int(np.flatnonzero(trace.is_real)[-1])


def offered(words: Words, config: TransformerConfig, trace: Trace, about: About) -> dict[str, Any] | None:
    """Return what can be asked: menus of positions, of answers, and of answers to compare with.

    None: there is one answer only. Tokens are offered where one place is asked about, the likeliest there,
    and any other can be typed.
    """
    if len(trace.labels) < FEWEST:
        return None
    places = places_of(config, trace)
    kind = "gaps" if config.fills_in else "target" if trace.encoder else "next"
    menus: dict[str, Any] = {
        "at": places
        and {
            "label": words("why.position"),
            "usual": words(f"why.position.{kind}"),
            "options": [
                [str(place), f"{place} · {plain(visible(token))}"] for place, token in places.items()
            ],
        }
    }
    row = row_of(config, trace, about.position)
    if row is not None:
        probs = trace.probs if trace.probs.ndim == 1 else trace.probs[row]
        likeliest = np.argsort(-probs)[:MOST_OFFERED].tolist()
        named = [
            [trace.labels[label], f"{plain(label_of(trace, label))} · {probs[label]:.1%}"]
            for label in likeliest
        ]
        stands_there = about.position is not None and not config.fills_in
        usual = words(f"why.answer.{'there' if stands_there else 'usual'}")
        typed = config.predicts_tokens
        menus["about"] = {
            "label": words("why.answer"),
            "usual": usual,
            "options": named,
            "typed": typed,
        }
        menus["rather"] = {
            "label": words("why.versus"),
            "usual": words("why.versus.usual"),
            "options": named,
            "typed": typed,
        }
    return {name: menu for name, menu in menus.items() if menu}


def said_of(words: Words, trace: Trace, found: Effects) -> dict[str, Any]:
    """Return the sentence with the strongest words of an answer, and what each word of a text does to it."""
    sides = ["text", "target"] if trace.encoder and trace.decoder else ["text"]
    return {
        "said": why_text(words, found, answer_named(words, trace, found), plain),
        "unit": words("why.unit" if found.stand_in else "why.unit_deleted", token=found.stand_in),
        "words": {side: tints(words, found, side) for side in sides},
    }


def tints(words: Words, effects: Effects, side: str) -> list[dict[str, Any]]:
    """Return the words of a text, or of its target, with the colour of the effect of each.

    Args:
        words: Sentences of the visitor's language.
        effects: The effects.
        side: "text" or "target".

    Returns:
        start, end: where it is. way: "for" or "against"; share: of the full colour, in [0, 1]; tip: its
        effect as a sentence; value: the effect, if it is large enough to stand above the word. A word that
        cannot be left out has a place only.
    """
    full, found = full_colour(effects, side), []
    rows: list[dict[str, Any]] = effects.words.to_dict("records")
    for row in rows:
        if row["side"] != side:
            continue
        tint: dict[str, Any] = {"start": row["start"], "end": row["end"]}
        if not math.isnan(row["value"]):
            share = min(abs(row["value"]) / full, 1.0)
            way, value = "against" if row["value"] < 0 else "for", signed(row["value"])
            tint |= {"way": way, "share": round(share, 2), "tip": words(f"why.tip.{way}", value=value)}
            if share >= NUMBER_FROM and abs(row["value"]) >= LEAST:
                tint["value"] = value
        found.append(tint)
    return found


def answer_named(words: Words, trace: Trace, found: Effects) -> str:
    """Return the name of an answer: a class, the tokens, or the target text; of A rather than B both."""
    several = trace.encoder and trace.decoder and len(found.answer.labels) > 1
    labels = (label_of(trace, label) for label in found.answer.labels)
    name = visible(trace.target_text) if several else words("list.comma").join(labels)
    if found.answer.versus is None:
        return name
    return words("why.rather", answer=name, versus=label_of(trace, found.answer.versus))


def reasons_bytes(words: Words, asked: Asked, trace: Trace, found: Effects, about: About) -> bytes:
    """Return the effects on the answer of a run, with what is said of them, as the views read them."""
    arrays, config = Arrays(), config_of(asked.model)
    agreements = agreements_of(asked.model.card, found)
    header = {
        "run": run_of(trace),
        "kinds": effect_arrays(arrays, found.cells, found.ablated, agreements),
        "b": said_of(words, trace, found),
        "menus": offered(words, config, trace, about),
    }
    return packed(header, arrays)


def compared_reasons_bytes(
    words: Words, asked: Asked, comparison: Comparison, found: tuple[Effects, Effects], about: About
) -> bytes:
    """Return the effects on the answer in both of two runs, with what is said of them."""
    arrays, config = Arrays(), config_of(asked.model)
    a, b = comparison.a, comparison.b
    menus = offered(words, config, a, about)
    header = {"b": said_of(words, b, found[1]), "a": said_of(words, a, found[0]), "menus": menus}
    header["measured"] = measured_said(words, asked, comparison, found[0])
    if comparison.has_same_heads:
        before, after = placed_effects(comparison, found)
        theirs, ours = measured_heads(found)
        header["run"] = "-".join(map(run_of, (a, b)))
        header["kinds"] = effect_arrays(arrays, after, ours, before=before, ablated_before=theirs)
    else:
        header |= {"run": run_of(b), "kinds": effect_arrays(arrays, found[1].cells, found[1].ablated)}
    return packed(header, arrays)


def measured_said(words: Words, asked: Asked, comparison: Comparison, found: Effects) -> str:
    """Return what A's answer loses without the one head or cell that B lacks, and what was estimated.

    "": more has changed, or the model answers after another target.
    """
    before, config, (a, b) = asked.before, config_of(asked.model), (comparison.a, comparison.b)
    if before is None or before.model != asked.request.model:
        return ""
    gone = removed(config, before, asked.request)
    if gone is None or not asks_why(config, a) or not is_whole(b) or a.target_tokens != b.target_tokens:
        return ""
    after = found.answer.certainty(found.answer.logits(config, b.logits), config.temperature)
    measured = found.certainty.log_odds - after.log_odds
    said = measured_text(words, gone, plain(answer_named(words, a, found)), measured, found.of(*gone))
    if abs(measured) >= LEAST or len(gone.place) > HEAD:
        return said
    return joined(said, words("why.unneeded", head=_strongest(words, found)))


def _strongest(words, found: Effects) -> str:
    """Return the name of the head that speaks most for an answer, by its estimate."""
    kinds = found.heads
    kind = max(kinds, key=lambda each: float(kinds[each].max()))
    layer, head = divmod(int(kinds[kind].argmax()), kinds[kind].shape[1])
    name = words("heads.title", layer=layer + 1, head=head + 1)
    return name if len(kinds) == 1 else words("change.of_kind", kind=words(f"kind.{kind}"), head=name)


def question_about_same(asked: Asked, about: About, a: Trace, b: Trace, first: Effects) -> EffectsRequest:
    """Return what is asked of B once A is explained: about A's answer.

    Models with other labels are each asked about their own answer.
    """
    if a.labels != b.labels:
        return EffectsRequest(asked.request)
    if len(first.answer.labels) == 1:
        about = about._replace(answer=first.answer.labels[0])
    return EffectsRequest(asked.request, *about)
