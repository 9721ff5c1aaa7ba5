"""What is changed in the run that the Attention page shows, and the run that it is compared with.

Both are kept in the URL, the changes as JSON of `Changes.to_dict`, the other run as that of its request.
"""

import difflib
import html
import json
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer_viz import store
from transformer_viz.pictures.changes import MASKS, acted
from transformer_viz.pictures.labels import label_of, written_text
from transformer_viz.ui.shell.address import keep
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.language import sendable, t
from transformer_viz.ui.shell.session import is_history_navigation
from transformer_viz.ui.shell.shelf import shown_models
from transformer_viz.values.comparison import Comparison
from transformer_viz.values.interventions import PATTERNS
from transformer_viz.values.request import OWN, TRACE, UNCHANGED, Changes, Request

CHANGES, BEFORE = "changes", "before"
"""Session and URL keys of the changes, and of the run that is compared with."""

CHANGED_MODEL, SHOWN = "changed-model", "shown-request"
"""Session keys of the model that is changed, and of the request that is shown."""

OFFERED = {"ablate", "cut", "patterns", "reference", "scaling", "positions", "attention_mask"}
"""Fields of `Changes` that the page offers."""

MAX_URL_CHARS = 3_000
"""Maximum length of either in the URL, in characters; what is longer is kept in the session alone."""

STYLE = """<style>
.compared, .st-key-asked { %s }
.compared { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.2rem 0.7rem; font-size: 1.05rem }
.st-key-side-a { padding-top: 0.5rem; margin-bottom: -0.25rem }
.compared b.side { align-self: center; padding: 0 0.5rem; border-radius: 0.35rem; line-height: 1.6;
  color: var(--background, #fff); background: var(--ink, #18202e) }
.compared .lost { color: var(--lost) } .compared .gained { color: var(--gained) }
.compared u { text-decoration-thickness: 2px; text-underline-offset: 3px }
.compared .muted { opacity: 0.75 }
.st-key-asked::before { content: "B"; flex: none; padding: 0 0.5rem; border-radius: 0.35rem; line-height: 1.6;
  font-weight: 700; color: var(--background, #fff); background: var(--ink, #18202e) }
</style>"""

COLOURS = {
    "light": "--ink: #18202e; --background: #ffffff; --lost: #b2342c; --gained: #15589a",
    "dark": "--ink: #eceff5; --background: #0f131b; --lost: #f0958c; --gained: #7fb8e6",
}
"""Theme -> colours of the line that says what became of the answer."""


def changed_run(model: store.ModelSummary) -> tuple[Changes, Request | None]:
    """Return the changes to the model's computation, and the run that is compared with; None: none.

    Changes made to another model are dropped. Both are kept in the URL, as one entry of the history.
    """
    if st.session_state.setdefault(CHANGED_MODEL, model.name) != model.name and not is_history_navigation():
        st.session_state[CHANGES] = ""
    st.session_state[CHANGED_MODEL] = model.name
    address = st.query_params.to_dict()
    kept = dict(address)
    for key in (CHANGES, BEFORE):
        keep(key, address.get(key, ""))
        kept[key] = st.session_state[key] if len(st.session_state[key]) <= MAX_URL_CHARS else ""
        if not kept[key]:
            del kept[key]
    if kept != address:
        st.query_params.from_dict(kept)
    return _changes(st.session_state[CHANGES]), _compared_with()


def _compared_with():
    """Return the run that is compared with; None: none, or its model is not on the shelf."""
    text = st.session_state.get(BEFORE, "")
    if not text:
        return None
    try:
        request = Request.from_json(text)
    except ValueError:
        return None
    is_shown = any(request.model == model.reference for model in shown_models())
    is_plain = isinstance(request.text, str) and request.wants == TRACE and _is_offered(request.changes)
    return request if is_shown and is_plain else None


def show_way_back(before: Request | None, changes: Changes) -> None:
    """Show buttons that take the changes back and end the comparison, where there is no picture with them."""
    with st.container(horizontal=True):
        if before or changes.given:
            st.button(t("change.undo_all"), on_click=act, args=({"do": "undo_all"},))
        if before:
            st.button(t("change.end"), on_click=act, args=({"do": "end"},))


def remember(request: Request) -> None:
    """Remember what is shown, for `act`."""
    st.session_state[SHOWN] = request


def act(acted_on: Mapping[str, Any]) -> None:
    """Do what the visitor asks of the views: change the run, take a change back, begin or end a comparison.

    The first change begins a comparison with the run that was shown without it.

    Args:
        acted_on: An act, as `changes.acts_of` offers it.
    """
    shown: Request = st.session_state[SHOWN]
    before = _compared_with()
    model = next((each for each in shown_models() if each.reference == shown.model), None)
    if model is None:
        return
    match acted_on["do"]:
        case "compare":
            _freeze(shown)
        case "end":
            st.session_state[BEFORE] = ""
        case "undo_all":
            if before:
                open_run(before)
            else:
                _set_changes(UNCHANGED)
        case "undo" if acted_on["name"] == "text" and before:
            _restore_text(before)
        case "undo" if acted_on["name"] == "model" and before:
            _restore_model(before)
            _set_changes(before.changes)
            st.session_state[CHANGED_MODEL] = st.session_state.model
        case _:
            if not before and acted_on["do"] != "undo":
                _freeze(shown)
            _set_changes(acted(config_of(model), shown.changes, acted_on))


def compare_with(request: Request) -> None:
    """Make a run A of a comparison with what is shown."""
    _freeze(request)


def open_run(request: Request) -> None:
    """Show a run: B, if there is a comparison."""
    _restore_text(request)
    _restore_model(request)
    _set_changes(request.changes)
    st.session_state[CHANGED_MODEL] = st.session_state.model


def show_answers(comparison: Comparison, above: DeltaGenerator, beside: DeltaGenerator) -> None:
    """Show the answer before and after, with the change in points and in log-odds.

    Args:
        comparison: The two runs.
        above: Place for the text and the answer of A.
        beside: Place for the answer of B, beside its text.
    """
    colours = COLOURS["dark" if st.context.theme.type == "dark" else "light"]
    before, after = _answers(comparison)
    above.html(f'{STYLE % colours}<div class="compared"><b class="side">A</b>{before}</div>')
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
    """Return the answer of one run as HTML."""
    if trace.encoder and trace.decoder:
        return _text(written_text(trace))
    probs = trace.probs if trace.probs.ndim == 1 else trace.probs[[*trace.gaps, -1][0]]
    return f"<b>{_text(label_of(trace, int(probs.argmax())))}</b> {probs.max():.1%}"


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


def _changes(text):
    try:
        changes = Changes(**json.loads(text)) if text else UNCHANGED
    except (TypeError, ValueError, RecursionError):
        return UNCHANGED
    return changes if _is_offered(changes) else UNCHANGED


def _is_offered(changes):
    """Return whether these are changes that the page offers: a link may hold any text."""
    try:
        named = all(len(each) == 2 and each[1] in PATTERNS for each in changes.patterns)
    except TypeError:
        return False
    mask = changes.attention_mask is None or changes.attention_mask in MASKS
    positions = changes.positions is None or isinstance(changes.positions, str)
    reference = changes.reference in ((), OWN)
    return OFFERED.issuperset(changes.given) and named and mask and positions and reference


def _set_changes(changes):
    given = changes.to_dict()
    st.session_state[CHANGES] = json.dumps(given, ensure_ascii=False, separators=(",", ":")) if given else ""


def _freeze(request):
    st.session_state[BEFORE] = request.to_json()


def _restore_text(before):
    st.session_state.sentence = before.text
    st.session_state.target = before.target or ""


def _restore_model(before):
    names = [each.name for each in shown_models() if each.reference == before.model]
    st.session_state.model = names[0] if names else st.session_state.model  # it was deleted in the meantime
