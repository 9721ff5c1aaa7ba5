"""The answers of a run and of the one that it is compared with."""

import difflib
import html

from streamlit.delta_generator import DeltaGenerator

from transformer_viz.pictures.labels import answer_text, label_of, written_text
from transformer_viz.ui.shell.language import sendable, t
from transformer_viz.values.comparison import Comparison


def show_answers(comparison: Comparison, above: DeltaGenerator, beside: DeltaGenerator) -> None:
    """Show the answer before and after, with the change in points and in log-odds.

    Args:
        comparison: The two runs.
        above: Place for the text and the answer of A.
        beside: Place for the answer of B, beside its text.
    """
    before, after = _answers(comparison)
    above.html(f'<div class="compared"><b class="side">A</b>{before}</div>')
    beside.html(f'<div class="compared">{after}</div>', width="content")


def _answers(comparison):
    """Return HTML of A's text and answer, and of what became of it in B."""
    a, b = comparison.a, comparison.b
    text = f'<span class="muted">{_text(a.text)}</span>'
    if all(each.encoder and each.decoder for each in (a, b)):
        before, after = _underlined(written_text(a), written_text(b))
        same = "" if before != after else f'<span class="muted">{t("compare.same")}</span>'
        return f"{text}<span>{before}</span>", f"<span>{after}</span>{same}"
    found = comparison.answer()
    if found is None:
        before, after = (_own_answer(each) for each in (a, b))
        return f"{text}<span>{before}</span>", f"<span>{after}</span>"
    label = f"<b>{_text(label_of(a, found.label))}</b>"
    points, odds = (_signed(100 * (found.after - found.before), 1), _signed(found.log_odds, 2))
    way = "muted" if points == "0.0" else "lost" if found.after < found.before else "gained"
    changed = f'<b class="{way}">{t("compare.change", points=points)}</b>'
    odds = f'<span class="muted">{t("compare.log_odds", change=odds)}</span>'
    return (
        f"{text}<span>{label} {found.before:.1%}</span>",
        f"<span>{label} {found.after:.1%}</span>{changed}{odds}{_now(b, found)}",
    )


def _now(trace, found):
    """Return B's own answer, if it is another than A's."""
    number, share = found.likeliest
    if number == found.label:
        return ""
    label = f"<b>{_text(label_of(trace, number))}</b>"
    now = t("compare.now", label=label, share=f"{share:.1%}")
    return f"<span>{now}</span>"


def _own_answer(trace):
    """Return the answer of one run as HTML; "" of a model without labels."""
    if not trace.labels:
        return ""
    if trace.encoder and trace.decoder:
        return _text(written_text(trace))
    return f"<b>{_text(answer_text(trace))}</b> {trace.answer_probs.max():.1%}"


def _underlined(before, after):
    """Return two texts as HTML, what they do not have in common underlined."""
    ours, theirs = (text.split() if " " in text else list(text) for text in (before, after))
    joint = " " if " " in before + after else ""
    parts = [[], []]
    for name, *places in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for part, words, (first, last) in zip(parts, (ours, theirs), (places[:2], places[2:]), strict=True):
            if first < last:
                shown = _text(joint.join(words[first:last]))
                part.append(shown if name == "equal" else f"<u>{shown}</u>")
    return tuple(joint.join(part) for part in parts)


def _signed(number, digits):
    """Return a number with its sign; one that rounds to 0 has none."""
    text = f"{abs(number):.{digits}f}"
    return text if float(text) == 0 else f"{'−' if number < 0 else '+'}{text}"


def _text(text):
    return html.escape(sendable(text))
