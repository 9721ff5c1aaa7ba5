"""Limits of model cards: cards may be foreign, and pages show those of all models."""

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError, dump, json_object, printable
from transformer_viz.text.unicode import INVISIBLE

MAX_BYTES = 2**17
"""Bytes of a card, as JSON on one line."""

MAX_DEPTH = 8
"""Nesting of lists and dicts in a part of a card."""

LARGEST_NUMBER = 10**15
"""Largest absolute value of a number that is shown."""

_SPACE = re.compile(r"[\t\r\n]")


def fitted(card: dict) -> dict:
    """Return a card without the largest of its parts, as many as exceed `MAX_BYTES` together.

    A part is an entry of the card; of its metrics, `test` and `validation`, each entry is one. Parts that are
    nested too deeply go, too, and `label_values` that are no names of labels.
    """
    sides = {name: {**card[name]} for name in ("test", "validation") if isinstance(card.get(name), dict)}
    card = card | sides
    if not isinstance(card.get("label_values", {}), dict):
        del card["label_values"]
    parts = [(card, name) for name in card if name not in sides]
    parts += [(side, name) for side in sides.values() for name in side]
    room, sized = MAX_BYTES, [(_size({name: part[name]}), part, name) for part, name in parts]
    for size, part, name in sorted(sized, key=itemgetter(0)):
        room -= size
        if room < 0:
            del part[name]
    return card


def card_text(file: Path, card: dict, *, whole: bool = False) -> str:
    """Return the text of a card.

    Args:
        file: Where it will be written.
        card: JSON values by name.
        whole: Refuse a card that is too large; otherwise its largest parts are left out, as by `fitted`.

    Raises:
        ModelError: If it cannot be written as JSON, or is refused.
    """
    try:
        text = dump(card)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError("card.json", place=file.parent, reason=printable(error)) from None
    kept = dump(fitted(json_object(file, text)))
    if whole and kept != text:
        raise ModelError("card.large", file=file, most=MAX_BYTES, depth=MAX_DEPTH)
    return kept


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


def _size(part):
    """Return the bytes of a part of a card, more than `MAX_BYTES` if it is nested too deeply."""
    level = [*part.values()]
    for _ in range(MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level if _is_nested(each)]
        level = [each for values in inner for each in values]
    return MAX_BYTES + 1 if any(map(_is_nested, level)) else len(json.dumps(part))


def _is_nested(value):
    return isinstance(value, list | dict)
