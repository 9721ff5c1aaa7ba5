"""Sentences about the effects of ablated heads."""

import numpy as np

from transformer_viz.language import Words
from transformer_viz.pictures.labels import label_of
from transformer_viz.questions.effects.answer import Certainty
from transformer_viz.questions.effects.result import HeadEffects
from transformer_viz.values.trace import Trace

LEAST_LOG_ODDS = 1e-6
"""Smallest change of log-odds that is more than rounding of float32."""


def effect_texts(words: Words, trace: Trace, effects: HeadEffects, kind: str) -> list[list[str]]:
    """Return a sentence on the effect of setting each head of a kind of attention to zero, by layer."""
    drops = np.stack([effects.probability[kind], effects.log_odds[kind]], axis=-1).astype(np.float64)
    this = words("effects.this_head")
    return [
        [effect_text(words, trace, this, effects.answer, Certainty(*drop)) for drop in layer]
        for layer in drops.tolist()
    ]


def together_text(words: Words, trace: Trace, effects: HeadEffects) -> str:
    """Return a sentence on the effect of setting all heads to zero, and the sum of their single effects."""
    every = words("effects.all_heads", count=effects.num_heads)
    return words(
        "effects.together",
        effect=effect_text(words, trace, every, effects.answer, effects.together),
        points=signed(-100 * effects.alone.probability),
        log_odds=signed(-effects.alone.log_odds),
    )


def effect_text(words: Words, trace: Trace, heads: str, answer: Certainty, drop: Certainty) -> str:
    """Return a sentence on an answer whose certainty drops while some heads are set to zero.

    Args:
        words: Sentences of the visitor's language.
        trace: The trace with all heads, which names the answer.
        heads: The name of these heads.
        answer: Certainty with all heads.
        drop: How much of it is lost.
    """
    name = words("effects.answer.tokens")
    if trace.probs.ndim == 1:
        name = words("effects.answer.class", label=label_of(trace, int(trace.probs.argmax())))
    change, what = -100 * drop.probability, {"heads": heads, "answer": name}
    before, after = (f"{each:.1%}" for each in (answer.probability, answer.probability - drop.probability))
    numbers = {"before": before, "log_odds": signed(-drop.log_odds)}
    if before == after and abs(drop.log_odds) < LEAST_LOG_ODDS:
        return words("effects.same", **what)
    if before == after:
        return words("effects.stays", **what, **numbers)
    numbers |= {"after": after, "points": signed(change)}
    return words("effects.falls" if change < 0 else "effects.rises", **what, **numbers)


def signed(change: float) -> str:
    """Return a change with its sign, to one decimal from 1 on, below with two significant digits."""
    digits = 1 if abs(change) >= 1 else 2
    size = f"{abs(change):.{digits}f}"
    if abs(change) < 0.1:
        size = np.format_float_positional(abs(change), precision=2, fractional=False, trim="-")
    return f"{'−' if change < 0 else '+'}{size}"
