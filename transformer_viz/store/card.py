"""Limits of model cards: cards may be foreign, and pages show those of all models."""

import re
from pathlib import Path
from typing import Any

from transformer_viz.language import Phrase
from transformer_viz.store.format import ModelError, check_size, dump, json_object, printable
from transformer_viz.text.unicode import INVISIBLE

MAX_BYTES = 2**16
"""Bytes of `card.json`."""

MAX_METRICS = 20
"""Test or validation metrics."""

MAX_EXAMPLES = 12
"""Example texts, or examples of output."""

MAX_LABELS = 200
"""Labels with metrics of their own."""

MAX_EPOCHS = 1_000
"""Epochs of a history."""

MAX_DEPTH = 8
"""Nesting of lists and dicts."""

MAX_CONFUSED = 20
"""Labels of a confusion matrix."""

LARGEST_NUMBER = 10**15
"""Largest absolute value of a number."""

_SPACE = re.compile(r"[\t\r\n]")


def check_card(file: Path, card: dict) -> None:
    """Check that a card is within the limits.

    Raises:
        ModelError: If it is not; names the excess, the limit and how to fix it.
    """
    for name, count, most in _counts(card):
        if count > most:
            raise ModelError("card.long", file=file, number=count, things=name, most=most)
    if _depth(card) > MAX_DEPTH:
        raise ModelError("card.deep", file=file, most=MAX_DEPTH)
    if not isinstance(card.get("label_values", {}), dict):
        raise ModelError("card.label_values", file=file)


def card_text(file: Path, card: dict) -> str:
    """Return the text of a card, reduced by `shortened` if necessary.

    Raises:
        ModelError: If it is invalid, or too long even then.
    """
    try:
        text = dump(shortened(card) if isinstance(card, dict) else card)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError("card.json", place=file.parent, reason=printable(error)) from None
    check_size(file, len(text))
    check_card_size(file, len(text))
    check_card(file, json_object(file, text))
    return text


def check_card_size(file: Path, size: int) -> None:
    """Check the size of a card before reading it."""
    if size > MAX_BYTES:
        raise ModelError("card.bytes", file=file, size=size, most=MAX_BYTES)


def shortened(card: dict) -> dict:
    """Return the card unchanged if it is within the limits, else without some of its details.

    The history keeps its first, best and last epochs and evenly spaced ones between them; metrics by label
    are kept for the most frequent labels.
    """
    for shorten in (lambda card: card, *_REDUCTIONS):
        card = shorten(card)
        if _is_short(card):
            break
    return card


def presentable(value: Any) -> Any:
    """Return a card without invisible characters and numbers that are not finite or too large."""
    if isinstance(value, dict):
        return {presentable(key): presentable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [presentable(inner) for inner in value]
    if isinstance(value, str):
        return INVISIBLE.sub(lambda found: found[0] if _SPACE.match(found[0]) else "", value)
    if type(value) in (int, float) and not abs(value) <= LARGEST_NUMBER:
        return None
    return value


def _counts(card):
    """Yield (name, count, limit) of the parts of a card."""
    yield Phrase("card.examples"), _length(card.get("examples")), MAX_EXAMPLES
    yield Phrase("card.epochs"), _length(card.get("history")), MAX_EPOCHS
    for side in ("test", "validation"):
        part = card.get(side)
        if isinstance(part, dict):
            numbers = [value for value in part.values() if type(value) in (int, float)]
            yield Phrase("card.side_figures", side=side), len(numbers), MAX_METRICS
            yield Phrase("card.side_labels", side=side), _length(part.get("by_label")), MAX_LABELS
            yield Phrase("card.side_examples", side=side), _length(part.get("examples")), MAX_EXAMPLES


def _length(value):
    return len(value) if isinstance(value, list | dict) else 0


def _depth(value):
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    return depth


def _is_short(card):
    confused = max(_length(part.get("confusion")) for part in (*_measured(card).values(), {}))
    if confused > MAX_CONFUSED or any(count > most for _, count, most in _counts(card)):
        return False
    return len(dump(card)) <= MAX_BYTES


def _measured(card):
    """Return the test and validation metrics of a card, by name."""
    return {side: card[side] for side in ("test", "validation") if isinstance(card.get(side), dict)}


def _within_limits(card):
    """Return a card reduced to the limits of its parts."""
    kept = _thinned(card, MAX_EPOCHS) | {side: _trimmed(part) for side, part in _measured(card).items()}
    return {
        name: _first(value, MAX_EXAMPLES) if name == "examples" else value for name, value in kept.items()
    }


def _trimmed(part):
    surplus = [name for name, value in part.items() if type(value) in (int, float)][MAX_METRICS:]
    surplus += ["confusion"] * (_length(part.get("confusion")) > MAX_CONFUSED)
    kept = {name: value for name, value in part.items() if name not in surplus}
    if "examples" in kept:
        kept["examples"] = _first(kept["examples"], MAX_EXAMPLES)
    return _with_labels(kept, MAX_LABELS)


def _with_labels(part, most):
    """Return metrics with those of the `most` most frequent labels."""
    found = part.get("by_label")
    if _length(found) <= most:
        return part
    if isinstance(found, dict) and all(isinstance(each, dict) for each in found.values()):
        rows = {label: each.get("rows") for label, each in found.items()}
        ranked = sorted(found, key=lambda label: -rows[label] if type(rows[label]) is int else 0)
        return part | {"by_label": {label: found[label] for label in ranked[:most]}}
    return part | {"by_label": _first(found, most)}


def _thinned(card, most):
    """Return a card with at most `most` epochs, evenly spaced, including the first, best and last."""
    history, best = card.get("history"), card.get("best_epoch")
    if _length(history) <= most:
        return card
    if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
        return card | {"history": _first(history, most)}
    numbered = [{"epoch": number, **epoch} for number, epoch in enumerate(history, start=1)]
    kept = {round(index * (len(history) - 1) / (most - 2)) for index in range(most - 1)}
    chosen = [row for index, row in enumerate(numbered) if index in kept or row["epoch"] == best]
    return card | {"history": chosen[:most]}


def _first(value, most):
    """Return the first items of a list or dict."""
    if isinstance(value, dict):
        return {name: value[name] for name in [*value][:most]}
    return value[:most] if isinstance(value, list) else value


def _without(name):
    """Return a reduction that removes a key."""
    return lambda card: {key: value for key, value in card.items() if key != name}


def _without_measured(name):
    """Return a reduction that removes a key from test and validation metrics."""
    return lambda card: card | {side: _without(name)(part) for side, part in _measured(card).items()}


def _with_texts_of(most):
    """Return a reduction that truncates the texts written by a training, not those added by hand."""

    def cut(value):
        if isinstance(value, dict):
            return {name: cut(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [cut(inner) for inner in value]
        return f"{value[:most]}..." if isinstance(value, str) and len(value) > most else value

    return lambda card: card | {name: cut(card[name]) for name in _TRAINED & card.keys()}


_TRAINED = {"command", "source", "licence", "examples", "data", "test", "validation"}


_REDUCTIONS = (
    _within_limits,
    _without_measured("confusion"),
    lambda card: _thinned(card, 100),
    _with_texts_of(1_000),
    lambda card: card | {side: _with_labels(part, 50) for side, part in _measured(card).items()},
    lambda card: _thinned(card, 30),
    _with_texts_of(200),
    _without_measured("by_label"),
    _without_measured("examples"),
    _without("label_values"),
)
"""Reductions of a card, the least harmful first."""
