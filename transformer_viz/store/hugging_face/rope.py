"""Rotary positions of a model of the hub."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import FULL, SLIDING, Family


def rotary(
    file: Path, theirs: Mapping[str, Any], family: Family, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of rotary positions; older and newer files have them in different places.

    Args:
        file: The config.json, for messages.
        theirs: Content of that file.
        family: Of the model.
        values: Field of our config -> its value, as far as they are known.

    Raises:
        ModelError: If they are scaled or incomplete.
    """
    found = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
    has_kinds = isinstance(found, dict) and not {FULL, SLIDING}.isdisjoint(found)
    if has_kinds and len(family.rotary_bases) == 1:
        raise ModelError("hugging.rope", file=file)
    share = theirs.get("partial_rotary_factor", family.defaults.get("rotary_pct", 1))
    share, fields, shares = theirs.get("rotary_pct", share), {}, set()
    for ours, (kind, name, default) in family.rotary_bases.items():
        rope = (found.get(kind) or {}) if has_kinds else found
        if (
            not isinstance(rope, dict)
            or (rope.get("rope_type") or rope.get("type") or "default") != "default"
        ):
            raise ModelError("hugging.rope", file=file)
        old = theirs.get(name, theirs.get("rotary_emb_base", default))
        fields[ours] = rope.get("rope_theta", old)
        shares.add(str(rope.get("partial_rotary_factor", share)))
        share = rope.get("partial_rotary_factor", share)
    width = values.get("head_dim") or _whole_ratio(values["d_model"], values["num_heads"])
    numbers = (*fields.values(), share, width)
    if len(shares) > 1 or not all(isinstance(number, int | float) for number in numbers):
        raise ModelError("hugging.rope", file=file)
    return {ours: float(base) for ours, base in fields.items()} | {"rotary_width": int(width * share)}


def _whole_ratio(width, heads):
    return width // heads if type(width) is int and type(heads) is int and heads > 0 else None
