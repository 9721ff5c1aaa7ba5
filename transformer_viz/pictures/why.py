"""Why an answer: its words in the colour of what each does, and a line with the strongest."""

import math
from collections.abc import Callable
from typing import NamedTuple

from transformer_viz.language import Words
from transformer_viz.pictures.effects import signed
from transformer_viz.questions.effects.removed import Removed
from transformer_viz.questions.effects.result import Effects
from transformer_viz.questions.roles.patterns import is_punctuation
from transformer_viz.text.unicode import visible

LEAST = 0.1
"""Smallest effect of a word, in log-odds, that is a reason."""

SHARE = 0.25
"""Smallest effect of a further reason, as a share of the largest."""

MOST_FOR, MOST_AGAINST = 3, 2
"""Most words that are named on either side."""

DARKEST = 2.0
"""Effect from which on a word has the full colour, unless the largest of the text is smaller."""

NUMBER_FROM = 0.4
"""Share of the full colour from which on a word's value stands above it."""


class Reason(NamedTuple):
    """A word that does something to an answer."""

    word: str
    value: float


def reasons(effects: Effects) -> tuple[list[Reason], list[Reason]]:
    """Return the words that speak for an answer and those that speak against it, the strongest first.

    Punctuation is never a reason; a word that stands several times is one with its largest effect.
    """
    found: dict[str, Reason] = {}
    for row in effects.words.to_dict("records"):
        reason = Reason(row["word"], row["value"])
        if math.isnan(reason.value) or is_punctuation(reason.word):
            continue
        known = found.get(reason.word.casefold())
        if known is None or abs(reason.value) > abs(known.value):
            found[reason.word.casefold()] = reason
    ranked = sorted(found.values(), key=lambda reason: -abs(reason.value))
    least = max(LEAST, SHARE * abs(ranked[0].value)) if ranked else LEAST
    strong = [reason for reason in ranked if abs(reason.value) >= least]
    speak_for = [reason for reason in strong if reason.value > 0][:MOST_FOR]
    return speak_for, [reason for reason in strong if reason.value < 0][:MOST_AGAINST]


def why_text(words: Words, effects: Effects, answer: str, escaped: Callable[[str], str]) -> str:
    """Return the answer with its probability and its reasons, in one sentence of Markdown.

    Args:
        words: Sentences of the visitor's language.
        effects: Effects on the answer.
        answer: Its name.
        escaped: Escapes what is the visitor's.
    """
    facts = {"answer": escaped(answer), "percent": f"{effects.certainty.probability:.0%}"}
    speak_for, speak_against = (_listed(words, side, escaped) for side in reasons(effects))
    sides = {"for": speak_for, "against": speak_against}
    if not any(sides.values()):
        return words("why.none", **facts)
    given = "both" if all(sides.values()) else next(name for name, said in sides.items() if said)
    return words(f"why.{given}", **facts, reasons=sides["for"], objections=sides["against"])


def measured_text(words: Words, removed: Removed, answer: str, measured: float, estimated: float) -> str:
    """Return what an answer loses without a head or a cell, in a sentence: as measured, and as estimated.

    Args:
        words: Sentences of the visitor's language.
        removed: The head or the cell.
        answer: Name of the answer.
        measured: Log-odds that it loses.
        estimated: Those that the effect foretold.
    """
    layer, head, *cell = removed.place
    facts = {"answer": answer, "measured": signed(measured), "estimated": signed(estimated)}
    name = words("heads.title", layer=layer + 1, head=head + 1)
    return words(f"why.measured.{'cell' if cell else 'head'}", head=name, **facts)


def full_colour(effects: Effects, side: str) -> float:
    """Return the effect from which on a word of "text" or "target" has the full colour."""
    sizes = effects.words.loc[effects.words["side"] == side, "value"].abs()
    return min(max(LEAST, float(sizes.max())) if sizes.notna().any() else LEAST, DARKEST)


def _listed(words, side, escaped):
    named = (f"**{escaped(visible(each.word))}** {signed(each.value)}" for each in side)
    return words("list.comma").join(named)
