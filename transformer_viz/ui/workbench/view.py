"""What the workbench shows of a run, or of two, as bytes for the browser; and what it saves of them."""

import dataclasses
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache, cached

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures.changes import acts_of, chips_of
from transformer_viz.pictures.compared import compared_payload, placed_effects
from transformer_viz.pictures.effects import together_text
from transformer_viz.pictures.labels import as_shown
from transformer_viz.pictures.lens import Around, payload_of, vectors_bytes
from transformer_viz.pictures.lessons import LessonView
from transformer_viz.pictures.looks import LOOKS, is_possible
from transformer_viz.pictures.map import map_payload
from transformer_viz.pictures.parameters import projected_contexts
from transformer_viz.pictures.pipeline import pipeline_of
from transformer_viz.pictures.views import page
from transformer_viz.questions.effects.result import Effects, ablations
from transformer_viz.text.gaps import ChangedText
from transformer_viz.trace.comparison import Comparison
from transformer_viz.trace.stream import Reading
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.answers import word_preferences
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.heads import head_roles_of, stamp_of
from transformer_viz.ui.shell.tables import csv_for_excel
from transformer_viz.ui.workbench.asked import Asked, name_of
from transformer_viz.ui.workbench.experiment import Experiment, Found
from transformer_viz.ui.workbench.reasons import asks_why, why_not
from transformer_viz.ui.workbench.said import (
    Item,
    answer_of,
    answers_of,
    change_of,
    gaps_of,
    notes_of,
    order_of,
    plain,
    reader_of,
    stand_in_of,
    words_read,
)

MAX_BYTES = 64 * 2**20
"""Memory of what is packed, in bytes; what is larger is packed anew each time."""


def view_bytes(
    made: Experiment, models: Callable[[], list[store.ModelSummary]], lesson: LessonView | None
) -> bytes:
    """Return the payload of the views, with what is said beside them.

    Args:
        made: What is shown.
        models: Returns the usable models that the visitor sees.
        lesson: Where the views open; None: there is no lesson.
    """
    return _view(made, reader_of(made.asked.model, made.found.trace.text, models), lesson)


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda made, reader, lesson: (
        *(made.asked.facts, _stamps(made.asked), reader, lesson),
        *(repr(made.menu), repr(made.said), repr(made.notes)),
    ),
    lock=threading.Lock(),
)
def _view(made, reader, lesson):
    """Return the payload, which all visitors share: what is of one alone, as own models, is in the key."""
    asked, found = made.asked, made.found
    words, config = Words(asked.language), config_of(asked.model)
    comparison = found.comparison(asked)
    acts = None if made.menu else acts_of(words, config, asked.request, asked.before, found.trace)
    explains = asks_why(config, found.former or found.trace) and not why_not(words, found.trace)
    said = said_of(words, made, comparison, reader)
    around = Around(
        acts=acts,
        lesson=lesson,
        pipeline=pipeline_of(config, words),
        vectors_later=True,
        asks_why=explains,
        answer=answers_of(found.trace, found.former),
        said=said,
    )
    if comparison is not None and comparison.has_same_heads:
        with_scores = "titles" in made.said
        return compared_payload(comparison, words, None, around, made.captions, with_scores=with_scores)
    model = asked.model.reference
    known = head_roles_of(model), word_preferences(model)
    return payload_of(found.trace, words, asked.looks, found.heads, None, *known, around)


def _stamps(asked):
    """Return the stamps of the models of both runs: a rewritten one has another."""
    return tuple(stamp_of(each.model) for each in (asked.request, asked.before) if each)


def map_bytes(
    made: Experiment, reading: Reading | None, models: Callable[[], list[store.ModelSummary]]
) -> bytes:
    """Return the steps of a run with its tensors, and what is said beside them.

    Args:
        made: What is shown; of two runs the second.
        reading: What its output layer reads; None: it has none.
        models: Returns the usable models that the visitor sees.
    """
    words, asked, trace = Words(made.asked.language), made.asked, made.found.trace
    config, comparison = config_of(asked.model), made.found.comparison(asked)
    said = said_of(words, made, comparison, reader_of(asked.model, trace.text, models))
    said["chips"] = chips_of(words, config, asked.request, asked.before, trace)
    computed = dataclasses.replace(config, residual=config.residual and asked.request.changes.residual)
    return map_payload(trace, computed, reading, words, said)


def said_of(words: Words, made: Experiment, comparison: Comparison | None, reader: str) -> dict[str, Any]:
    """Return all that the workbench says of a run; `reader` as for `notes_of`.

    Returns:
        text, target: As the model has read them. words: Of the text, as `words_read`. answer: What the model
        answers. before: Text and answer of the run that it is compared with. gaps: As `gaps_of`. notes: What
        is to be known of the run. looks: Other ways to show it, each a name and a label. ablations: What
        offers to ablate each head; "": nothing does. explains: Whether the answer has reasons. why_not: Why
        they are not told. leaves_out: Whether a hidden word is left out of the run; else it is written over.
        stands_in: As `stand_in_of`. restored: Parts of the text in whose place something else stood.
        experiment: The menu of one, and what else it tells.
    """
    asked, found = made.asked, made.found
    trace, model, config = found.trace, asked.model, config_of(asked.model)
    changed = ChangedText(trace.text, asked.filled)
    said: dict[str, Any] = {
        "text": trace.text,
        "target": trace.target_text if trace.encoder and trace.decoder else "",
        "words": words_read(trace),
        "leaves_out": not config.fills_in,
        "stands_in": stand_in_of(model),
        "gaps": gaps_of(words, model, trace, changed),
        "restored": [[change.begin, change.end] for change in asked.filled],
        "looks": [[look, words(f"looks.{look}")] for look in LOOKS if is_possible(trace, look)],
        "ablations": _offer_of_ablations(words, asked, trace),
        "explains": asks_why(config, found.former or trace),
        "why_not": why_not(words, trace),
    }
    notes: list[Item] = []
    own = asked.request.target is None
    if comparison is None:
        said["answer"] = answer_of(words, model, trace, own=own)
    else:
        before, after = change_of(words, comparison, own=own)
        said["answer"] = after or answer_of(words, model, trace, own=own)
        said["before"] = {"text": comparison.a.text, "words": words_read(comparison.a), "answer": before}
        said["looks"], said["ablations"] = [], ""
        if not comparison.has_same_heads:
            facts = {"a": plain(name_of(comparison.a.model)), "b": plain(model.name)}
            notes.append({"said": words("compare.other_heads", **facts), "warns": True})
        if asked.before == asked.request and not made.menu:
            notes.append({"said": words("compare.nothing"), "small": True})
    if asked.request.changes.order:
        notes.append(order_of(words, trace))
    if found.heads is not None and found.heads.num_heads > 1:
        notes.append({"said": plain(together_text(words, trace, found.heads)), "small": True})
    if made.menu is not None:
        said["experiment"] = {**made.menu._asdict(), **made.said, "there": made.there and made.there.state}
    notes += made.notes
    said["notes"] = [*notes, *notes_of(words, model, trace, reader)]
    return said


def _offer_of_ablations(words, asked, trace):
    """Return what offers to ablate each head; "" without an answer, or if heads are ablated already."""
    if not trace.labels or asked.request.changes.ablate:
        return ""
    return words("effects.label", count=len(ablations(config_of(asked.model))))


def vectors_of_layer(asked: Asked, found: Found, kind: str, layer: int) -> bytes:
    """Return the vectors of each step in one layer of a kind of attention.

    Raises:
        KeyError, IndexError: If the model has no such layer.
    """
    projected = projected_contexts(found.trace, kind, asked.model.reference)
    return vectors_bytes(found.trace, kind, layer, projected)


class File(NamedTuple):
    """A file to be saved."""

    name: str
    mime: str
    content: bytes


def file_of(
    asked: Asked,
    found: Found,
    effects: Effects | tuple[Effects, Effects] | None,
    kind: str,
    start: dict[str, Any] | None,
) -> File | None:
    """Return all that is shown as a file; None: there is no such file of these runs.

    Args:
        asked: What is asked.
        found: The answers; for "npz" with the whole of a large vocabulary.
        effects: Effects on the answer, of two runs on both; None: unknown.
        kind: "csv", "npz" (the trace), "effects" (NPZ) or "html" (a page that needs no server).
        start: The selection on which such a page opens.
    """
    comparison, name = found.comparison(asked), f"{asked.model.name}-attention"
    if kind == "csv":
        table = table_of(found.trace, effects) if comparison is None else compared_table(comparison, effects)
        return File(f"{name}.csv", "text/csv", csv_for_excel(table.to_csv(index=False)).encode())
    if kind == "npz" and comparison is None:
        return File(f"{name}.npz", "application/zip", npz_of(found.trace))
    if kind == "effects" and isinstance(effects, Effects):
        return File(f"{asked.model.name}-effects.npz", "application/zip", npz_of(effects))
    if kind == "html":
        return File(f"{name}.html", "text/html", _page(asked, found, comparison, effects, start).encode())
    return None


def _page(asked, found, comparison, effects, start):
    words, trace = Words(asked.language), found.trace
    pipeline = pipeline_of(config_of(asked.model), words)
    if comparison is not None and comparison.has_same_heads:
        title = f"{comparison.a.text} | {comparison.b.text}"
        payload = compared_payload(comparison, words, effects, Around(pipeline=pipeline))
    else:
        title, model = trace.text, asked.model.reference
        projected = {kind: projected_contexts(trace, kind, model) for kind in trace.kinds()}
        known = head_roles_of(model), word_preferences(model)
        shown = found.heads or (effects if isinstance(effects, Effects) else None)
        payload = payload_of(trace, words, asked.looks, shown, projected, *known, Around(pipeline=pipeline))
    title = words("list.colon").join([asked.model.name, title])
    return page(payload, title=title, language=asked.language, start=start)


def table_of(trace: Trace, effects: Any) -> Any:
    """Return the weights of a trace as a table, with what each cell does to the answer if that is known."""
    table = as_shown(trace).to_frame()
    return effects.beside(table) if isinstance(effects, Effects) else table


def compared_table(comparison: Comparison, effects: Any) -> Any:
    """Return the weights of two runs as a table, with what each cell does to the answer if that is known."""
    shown = dataclasses.replace(comparison, a=as_shown(comparison.a), b=as_shown(comparison.b))
    table = shown.to_frame()
    if not isinstance(effects, tuple):
        return table
    sides = (
        np.concatenate([placed[kind].ravel() for kind in comparison.a.kinds()])
        for placed in placed_effects(comparison, effects)
    )
    return table.assign(**dict(zip(("effect_a", "effect_b"), sides, strict=True)))


def npz_of(found: Trace | Effects) -> bytes:
    """Return a trace or effects as a file for `Trace.load`, or for `Effects.load`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.npz"
        found.save(path)
        return path.read_bytes()
