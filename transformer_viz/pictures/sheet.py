"""The sheet of one head: its usual role, its weight on each pattern, and the bins of its distances."""

from typing import Any

import numpy as np

from transformer_viz.language import Words
from transformer_viz.pictures.captions import HeadsInText, patterns_of_trace, role_name, usual_text
from transformer_viz.pictures.evidence import evidence_of, evidence_title
from transformer_viz.questions.roles.rules import FEWEST_TEXTS
from transformer_viz.questions.roles.survey import DISTANCES, FAR, HeadSurvey
from transformer_viz.questions.roles.words import typical_keys
from transformer_viz.trace.trace import Trace

Place = tuple[str, int, int]
"""Kind of attention, layer and head, 0-based."""


def evidence_sheet(words: Words, survey: HeadSurvey, trace: Trace, place: Place) -> dict[str, Any]:
    """Return the evidence for a head's role over the texts of a survey, in the format of `sheet.js`.

    Args:
        words: Sentences of the visitor's language.
        survey: The survey.
        trace: The text that is shown beside it.
        place: The head.
    """
    kind, layer, head = place
    heads = _heads_here(survey, trace, kind)
    names, meanings, texts, numbers = evidence_of(words, heads, survey.roles)
    rows = zip(names, meanings, texts, numbers[:, layer, head].T, strict=True)
    measured = [
        {"name": name, "meaning": meaning, "texts": count}
        | dict(zip(("mean", "spread", "held", "uniform", "here"), map(_known, row), strict=True))
        for name, meaning, count, row in rows
        if not np.isnan(row[[0, -1]]).all()
    ]
    role = survey.usual(kind, layer, head)
    return {
        "place": {"kind": kind, "layer": layer, "head": head},
        "measured": measured,
        "role": "" if role is None else role_name(words, role),
        "words": words.under("lens") | {"evidence": evidence_title(words, survey.roles)},
    }


def sheet_text(words: Words, survey: HeadSurvey, trace: Trace, place: Place) -> str:
    """Return the usual role of a head over the texts of a survey as a sentence, or that they are too few."""
    kind, layer, head = place
    role = survey.usual(*place)
    if role is None:
        return words("survey.few", fewest=FEWEST_TEXTS)
    return usual_text(words, role, _heads_here(survey, trace, kind), layer, head, survey.roles.tokens)


def patterns_of_sheet(survey: HeadSurvey, place: Place) -> list[str]:
    """Return the measures of a head that some text shows, its usual role first."""
    names = survey.roles.kinds[place[0]].names
    shown = [name for name in names if not np.isnan(survey.shares_of(*place, name)).all()]
    role = survey.usual(*place)
    first = role.measure if role is not None else ""
    return sorted(shown, key=lambda name: name != first)


def distance_names() -> list[str]:
    """Return the names of the bins of distances.

    >>> distance_names()[:5]
    ['≤ −17', '−16 … −9', '−8 … −5', '−4 … −3', '−2']
    """
    return [_distance_name(first, last) for first, last in DISTANCES]


def _distance_name(first, last):
    if first == last:
        return _signed(first)
    if first == -FAR:
        return f"≤ {_signed(last)}"
    return f"≥ {_signed(first)}" if last == FAR else f"{_signed(first)} … {_signed(last)}"


def _signed(number):
    return f"{number}".replace("-", "\N{MINUS SIGN}")


def _heads_here(survey, trace, kind):
    typical = typical_keys(trace.text, trace.offsets, trace.tokens, survey.roles.words)
    return HeadsInText(kind, trace.kinds()[kind], patterns_of_trace(trace)[kind], typical)


def _known(number):
    return None if np.isnan(number) else float(number)
