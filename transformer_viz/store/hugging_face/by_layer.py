"""Which blocks of a model have a window of attention, and which have none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import FULL, SLIDING, Family
from transformer_viz.store.limits import MAX_LAYERS

NAMES = {"global": FULL, "local": SLIDING}
"""GPT-Neo's names of kinds of blocks -> those of others."""


def windows(
    file: Path, theirs: Mapping[str, Any], family: Family, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the window of self-attention, and which blocks are without it.

    Args:
        file: The config.json, for messages.
        theirs: Content of that file.
        family: Of the model.
        values: Field of our config -> its value, as far as they are known.

    Raises:
        ModelError: If the blocks differ in a way that is not understood.
    """
    window, count = values.get("window"), values["num_layers"]
    if type(count) is not int or not 0 < count <= MAX_LAYERS:
        return {"window": window}  # and the config is refused
    listed = [theirs[name] for name in family.kinds if theirs.get(name) is not None]
    kinds: Any = listed[0] if listed else None
    if isinstance(kinds, list):
        kinds = [NAMES.get(str(kind), kind) for kind in kinds]
    if family.mixed is None:
        if isinstance(kinds, list) and len({*map(str, kinds)}) > 1:
            raise ModelError("hugging.layer_types", file=file)
        kinds = [SLIDING if window is not None else FULL] * count
    elif kinds is None:
        kinds = _kinds(file, theirs, family, count) if window is not None else [FULL] * count
    known = isinstance(kinds, list) and len(kinds) == count and {*map(str, kinds)} <= {FULL, SLIDING}
    if not known or (window is None and SLIDING in kinds):
        raise ModelError("hugging.layer_types", file=file)
    unlimited = tuple(layer for layer, kind in enumerate(kinds) if kind == FULL)
    if len(unlimited) == count:
        return {"window": None}
    if type(window) is int:  # with a causal mask it counts the token itself, otherwise both sides
        both = values["architecture"] == "encoder" and not values.get("causal")
        window = window // 2 if both else window - 1
    return {"window": window, "unlimited_layers": unlimited}


def _kinds(file, theirs, family, count):
    """Return the kind of each block, by the rule of the family."""
    name, default, rule = family.mixed
    number = theirs.get(name, default)
    if type(number) is not int or number < (rule != "below"):
        raise ModelError("hugging.layer_types", file=file)
    rules = {
        "first": lambda layer: layer % number == 0,
        "last": lambda layer: (layer + 1) % number == 0,
        "below": lambda layer: layer < number,
    }
    return [FULL if rules[rule](layer) else SLIDING for layer in range(count)]
