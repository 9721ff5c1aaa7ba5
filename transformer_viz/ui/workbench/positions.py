"""The experiment of the Positions page: shuffle the tokens, or take away or replace the position encoding."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.changes import other_positions
from transformer_viz.pictures.labels import answer_text
from transformer_viz.pictures.theme import percent
from transformer_viz.text.scripts import main_script
from transformer_viz.trace.order import permutation_of
from transformer_viz.trace.original_order import in_original_order
from transformer_viz.trace.request import UNCHANGED, Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.card_facts import config_of, examples_of
from transformer_viz.ui.workbench.asked import Asked
from transformer_viz.ui.workbench.experiment import Ask, Experiment, Found, Menu, group, number_in
from transformer_viz.ui.workbench.said import Item, plain

LAST_SEED = 999_999
"""Largest seed of a shuffle."""

ROUNDING = 1e-5
"""Differences below this are rounding errors."""

OFFERED = 2
"""Maximum number of models with positions to offer instead of one without."""


def positions(
    asked: Asked, given: Mapping[str, str], ask: Ask, models: list[store.ModelSummary]
) -> Experiment:
    """Return the run with other positions beside the one as it is.

    Args:
        asked: The text, whose changes are left out; an encoder-decoder writes its own target in each run.
        given: do, swap, seed: what is chosen.
        ask: Asks the engine.
        models: Usable models that the visitor sees, some of which may have positions.
    """
    words, config = Words(asked.language), config_of(asked.model)
    base = dataclasses.replace(asked.request, target=None, changes=UNCHANGED)
    menu, changed = _choice(words, config, given, base)
    before, after = ask(base), ask(changed)
    both = asked._replace(request=changed, before=base, looks=(), ablates=False)
    notes = [*_lack(words, asked.model, models)] if config.positions == "none" else []
    table, notes_below = _table(words, config, (base, changed), (before, after), ask)
    said = {"asks": _question(words, changed), "table": table}
    if not config.positions_in_attention:
        said["part"] = "positions"
    return Experiment(both, Found(after, before), menu, said, {}, notes + notes_below, both)


def _choice(words, config, given, base) -> tuple[Menu, Request]:
    """Return the menu, and the request with the change that is chosen."""
    others = other_positions(config)
    can = {"shuffle": True, "remove": config.positions != "none", "swap": bool(others)}
    options = {do: words(f"positions.do.{do}") for do, possible in can.items() if possible}
    do = given.get("do", "") if given.get("do", "") in options else "shuffle"
    groups = [group("do", words("positions.do"), words("positions.do.help"), options, do)]
    kept = {"do": "" if do == "shuffle" else do}
    if do == "shuffle":
        seed = number_in(given, "seed", 0, LAST_SEED, 0)
        again = {"label": words("positions.again"), "name": "seed", "value": str((seed + 1) % LAST_SEED)}
        kept["seed"] = str(seed) if seed else ""
        return Menu(kept, groups, [], [], again), base.changed(order=f"shuffled:{seed}")
    if do == "remove":
        return Menu(kept, groups, [], []), base.changed(positions="none")
    kind = given.get("swap", "") if given.get("swap", "") in others else others[0]
    named = {each: words(f"positions.kind.{each.replace('-', '_')}") for each in others}
    groups.append(group("swap", words("positions.swap"), "", named, kind))
    kept["swap"] = "" if kind == others[0] else kind
    return Menu(kept, groups, [], []), base.changed(positions=kind)


def _question(words, changed: Request) -> dict[str, str]:
    """Return the question that the change asks, and what is to be known of it."""
    changes = changed.changes
    asks = "shuffle" if changes.order else "none" if changes.positions == "none" else "other"
    return {"said": words(f"positions.asks.{asks}"), "tip": words(f"positions.asks.{asks}.help")}


def _table(words, config, requests, traces, ask) -> tuple[list[list[str]], list[Item]]:
    """Return the largest change of a weight and the answers before and after, with the model's positions and
    without; and what the numbers prove.
    """
    before, after = traces
    named = requests[1].changes.order
    order = permutation_of(named, before.tokens) if named else None
    rows = [("own" if config.positions != "none" else "without", before, after)]
    if order and config.positions != "none":
        bare = [ask(each.changed(positions="none")) for each in requests]
        rows.append(("without", *bare))
    answer = [words(f"positions.answer.{_kind_of_answer(before)}")] if before.labels else []
    head = ["", words("positions.moves"), *answer]
    table = [head]
    for name, one, other in rows:
        label = words(f"positions.row.{name}") if order else words("positions.row.change")
        moved = difference_text(words, _largest_change(one, other, order))
        answers = [f"{_answer_of(one)} → {_answer_of(other)}"] if before.labels else []
        table.append([label, moved, *answers])
    proof = ""
    if order and config.causal:
        proof = words("positions.causal")
    elif order and config.window is not None:
        proof = words("positions.window")
    elif order and _largest_change(*rows[-1][1:], order) < ROUNDING:
        proof = words("positions.proved")
    return table, [{"said": proof, "small": True}] if proof else []


def difference_text(words: Words, number: float) -> str:
    """Return a difference of two weights as text; below `ROUNDING`, it is marked as a rounding error."""
    if number >= ROUNDING:
        return percent(number)
    return words("positions.rounding", value=f"{number:.0e}") if number else "0"


def _largest_change(before: Trace, after: Trace, order: tuple[int, ...] | None) -> float:
    """Return the largest change of any weight in the attention over the text, after undoing the shuffle."""
    kind = "encoder" if before.encoder else "decoder"
    layers = zip(before.kinds()[kind].layers, after.kinds()[kind].layers, strict=True)
    return max(
        float(np.abs((in_original_order(two.weights, order) if order else two.weights) - one.weights).max())
        for one, two in layers
    )


def _kind_of_answer(trace: Trace) -> str:
    """Return what `_answer_of` is: classes, a text, the next token, or that in a gap or the last position."""
    if trace.probs.ndim == 1:
        return "classes"
    if trace.decoder:
        return "text" if trace.encoder else "next"
    return "gap" if len(trace.gaps) else "last"


def _answer_of(trace: Trace) -> str:
    """Return the model's answer as a short text."""
    if trace.encoder and trace.decoder:
        return f"“{plain(trace.target_text) or '∅'}”"
    return f"{plain(answer_text(trace))} {trace.answer_probs.max():.1%}"


def _lack(words, model: store.ModelSummary, models: list[store.ModelSummary]):
    """Yield that a model has no positions, with buttons that open the most similar ones that have them."""
    config, script = config_of(model), main_script(examples_of(model.card))
    near = config.causal or config.window is not None
    yield {"said": words("positions.lacks.near" if near else "positions.lacks"), "warns": True}
    others = [
        each
        for each in models
        if config_of(each).architecture == config.architecture
        and config_of(each).positions != "none"
        and main_script(examples_of(each.card)) == script
    ]
    others.sort(key=lambda each: _distance(config_of(each), config))
    if others:
        yield {"said": words("positions.lacks.others")}
    for each in others[:OFFERED]:
        yield {"press": words("positions.open", model=each.name), "open": each.name}


def _distance(one: TransformerConfig, other: TransformerConfig) -> list[bool]:
    """Return in what two models differ, the most important first."""
    return [getattr(one, name) != getattr(other, name) for name in ("labels", "num_layers", "num_heads")]
