"""Sentences about the effects of ablated heads."""

import numpy as np

from transformer_viz.language import Words
from transformer_viz.pictures.labels import label_of
from transformer_viz.questions.effects.answer import Certainty
from transformer_viz.questions.effects.result import HeadEffects
from transformer_viz.trace.trace import Trace

LITTLE = 0.01
"""Change of a probability below which it hardly changes."""

NEAR_HALF = 0.05
"""Distance from 50 % below which one of two classes is as likely as the other."""

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
    """Return a sentence on the answer without any head, and on the largest change without one of them."""
    before, after = effects.answer.probability, effects.answer.probability - effects.together.probability
    points, log_odds = (
        max(float(np.abs(part).max()) for part in side.values())
        for side in (effects.probability, effects.log_odds)
    )
    single = "effects.single_little" if points < LITTLE else "effects.single"
    is_toss = trace.probs.ndim == 1 and len(trace.probs) == 2 and abs(after - 0.5) < NEAR_HALF
    return words(
        "effects.together",
        answer=answer_name(words, trace),
        before=f"{before:.1%}",
        after=f"{after:.1%}",
        toss=words("effects.toss") if is_toss else "",
        single=words(single, points=unsigned(100 * points), log_odds=unsigned(log_odds)),
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
    change, what = -100 * drop.probability, {"heads": heads, "answer": answer_name(words, trace)}
    before, after = (f"{each:.1%}" for each in (answer.probability, answer.probability - drop.probability))
    numbers = {"before": before, "log_odds": signed(-drop.log_odds)}
    if before == after and abs(drop.log_odds) < LEAST_LOG_ODDS:
        return words("effects.same", **what)
    if before == after:
        return words("effects.stays", **what, **numbers)
    numbers |= {"after": after, "points": signed(change)}
    return words("effects.falls" if change < 0 else "effects.rises", **what, **numbers)


def answer_name(words: Words, trace: Trace) -> str:
    """Return the name of the number that says how certain an answer is."""
    if trace.probs.ndim == 1:
        return words("effects.answer.class", label=label_of(trace, int(trace.probs.argmax())))
    return words("effects.answer.tokens")


def signed(change: float) -> str:
    """Return a change with its sign, to one decimal from 1 on, below with two significant digits."""
    return f"{'−' if change < 0 else '+'}{unsigned(abs(change))}"


def unsigned(size: float) -> str:
    """Return the size of a change, to as many digits as `signed`."""
    if size < 0.1:
        return np.format_float_positional(size, precision=2, fractional=False, trim="-")
    return f"{size:.{1 if size >= 1 else 2}f}"
