"""What a model card may hold: a card may come from anybody, and every page shows the cards of all models."""

import re
from pathlib import Path

from transformer_viz.language import Phrase
from transformer_viz.store.format import ModelError, check_size, dump, json_object, one_line
from transformer_viz.text.tokenizer import INVISIBLE

MAX_BYTES = 2**16
"""Bytes of `card.json`."""

MAX_FIGURES = 20
"""Figures of the test or the validation rows."""

MAX_EXAMPLES = 12
"""Texts to try, or examples of what was written."""

MAX_LABELS = 200
"""Labels whose figures are given one by one."""

MAX_EPOCHS = 1_000
"""Epochs of a history."""

MAX_DEPTH = 8
"""Lists and dicts within each other."""

MAX_CONFUSED = 20
"""Labels whose confusion is written: a table with as many rows and columns."""

LARGEST_NUMBER = 10**15
"""Number that is shown, positive or negative."""

_SPACE = re.compile(r"[\t\r\n]")


def check_card(file: Path, card: dict) -> None:
    """Check that a card holds no more than what is shown.

    Raises:
        ModelError: If it does; says what there is too much of, the limit and the way out.
    """
    for name, count, most in _counts(card):
        if count > most:
            raise ModelError("card.long", file=file, number=count, things=name, most=most)
    if _depth(card) > MAX_DEPTH:
        raise ModelError("card.deep", file=file, most=MAX_DEPTH)
    if not isinstance(card.get("label_values", {}), dict):
        raise ModelError("card.label_values", file=file)


def card_text(file: Path, card: dict) -> str:
    """Return the text of a card, shortened as `shortened` says if need be.

    Raises:
        ModelError: If it is no card, or even so too long.
    """
    try:
        text = dump(shortened(card) if isinstance(card, dict) else card)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError("card.json", place=file.parent, reason=one_line(error)) from None
    check_size(file, len(text))
    check_card_size(file, len(text))
    check_card(file, json_object(file, text))
    return text


def check_card_size(file: Path, size: int) -> None:
    """Check the size of a card, before it is read."""
    if size > MAX_BYTES:
        raise ModelError("card.bytes", file=file, size=size, most=MAX_BYTES)


def shortened(card: dict) -> dict:
    """Return a card that is read again: one that is short enough as it is, a longer one without its details.

    The history keeps its first, best and last epochs and some between, each with its number; the labels that
    keep their figures are the most frequent.
    """
    for shorten in (lambda card: card, *_REDUCTIONS):
        card = shorten(card)
        if _is_short(card):
            break
    return card


def printable(value: object) -> object:
    """Return a card of which every text can be shown and every number written; what cannot be is left out."""
    if isinstance(value, dict):
        return {printable(key): printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [printable(inner) for inner in value]
    if isinstance(value, str):
        return INVISIBLE.sub(lambda found: found[0] if _SPACE.match(found[0]) else "", value)
    if type(value) in (int, float) and not abs(value) <= LARGEST_NUMBER:
        return None
    return value


def _counts(card):
    """Yield what there is in a card that is shown one by one: its name, how much, and how much is read."""
    yield Phrase("card.examples"), _length(card.get("examples")), MAX_EXAMPLES
    yield Phrase("card.epochs"), _length(card.get("history")), MAX_EPOCHS
    for side in ("test", "validation"):
        part = card.get(side)
        if isinstance(part, dict):
            numbers = [value for value in part.values() if type(value) in (int, float)]
            yield Phrase("card.side_figures", side=side), len(numbers), MAX_FIGURES
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
    """Return the parts of a card that hold figures, by name."""
    return {side: card[side] for side in ("test", "validation") if isinstance(card.get(side), dict)}


def _within_limits(card):
    """Return a card without what nobody would look at one by one."""
    kept = _thinned(card, MAX_EPOCHS) | {side: _trimmed(part) for side, part in _measured(card).items()}
    return {
        name: _first(value, MAX_EXAMPLES) if name == "examples" else value for name, value in kept.items()
    }


def _trimmed(part):
    surplus = [name for name, value in part.items() if type(value) in (int, float)][MAX_FIGURES:]
    surplus += ["confusion"] * (_length(part.get("confusion")) > MAX_CONFUSED)
    kept = {name: value for name, value in part.items() if name not in surplus}
    if "examples" in kept:
        kept["examples"] = _first(kept["examples"], MAX_EXAMPLES)
    return _with_labels(kept, MAX_LABELS)


def _with_labels(part, most):
    """Return measured figures with those of the most frequent labels only."""
    found = part.get("by_label")
    if _length(found) <= most:
        return part
    if isinstance(found, dict) and all(isinstance(each, dict) for each in found.values()):
        rows = {label: each.get("rows") for label, each in found.items()}
        ranked = sorted(found, key=lambda label: -rows[label] if type(rows[label]) is int else 0)
        return part | {"by_label": {label: found[label] for label in ranked[:most]}}
    return part | {"by_label": _first(found, most)}


def _thinned(card, most):
    """Return a card with fewer epochs in its history, evenly spread, the first, best and last among them."""
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
    """Return the first of a list or dict."""
    if isinstance(value, dict):
        return {name: value[name] for name in [*value][:most]}
    return value[:most] if isinstance(value, list) else value


def _without(name):
    """Return a reduction that leaves a part out."""
    return lambda card: {key: value for key, value in card.items() if key != name}


def _without_measured(name):
    """Return a reduction that leaves a part of the measured figures out."""
    return lambda card: card | {side: _without(name)(part) for side, part in _measured(card).items()}


def _with_texts_of(most):
    """Return a reduction that cuts the texts of a training; what else somebody wrote is theirs to shorten."""

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
"""What makes a card shorter, what matters least first."""
