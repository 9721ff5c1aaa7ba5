"""Rotary positions of a model of the hub."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import FULL, SLIDING, Family
from transformer_viz.store.limits import LARGEST_FIELDS

STRETCH = {"rotary_base": "rotary_stretch", "window_rotary_base": "window_rotary_stretch"}
"""Field of the base of wavelengths -> that of the factors by which they are longer."""


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
        ModelError: If they are incomplete, or scaled in a way that is not understood.
    """
    found = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
    if not isinstance(found, dict):
        raise ModelError("hugging.rope", file=file)
    has_kinds = not {FULL, SLIDING}.isdisjoint(found)
    if has_kinds and len(family.rotary_bases) == 1:
        raise ModelError("hugging.rope", file=file)
    by_kind = found if has_kinds else {FULL: found}
    share = theirs.get("partial_rotary_factor", family.defaults.get("rotary_pct", 1))
    share, bases, ropes, shares = theirs.get("rotary_pct", share), {}, {}, set()
    for ours, (kind, name, default) in family.rotary_bases.items():
        rope = ropes[ours] = by_kind.get(kind) or {}
        if not isinstance(rope, dict):
            raise ModelError("hugging.rope", file=file)
        old = theirs.get(name, theirs.get("rotary_emb_base", default))
        bases[ours] = rope.get("rope_theta", old)
        shares.add(str(rope.get("partial_rotary_factor", share)))
        share = rope.get("partial_rotary_factor", share)
    width = values.get("head_dim") or _whole_ratio(values["d_model"], values["num_heads"])
    good = all(map(_is_number, (*bases.values(), share, width))) and share <= 1
    if not good or len(shares) > 1:
        raise ModelError("hugging.rope", file=file)
    width, fields = int(width * share), dict[str, Any]()
    for ours, base in bases.items():
        stretch = _stretch(ropes[ours], theirs, width, base)
        if stretch is None:
            raise ModelError("hugging.rope", file=file)
        fields |= {ours: float(base), STRETCH[ours]: stretch}
    return fields | {"rotary_width": width}


def _whole_ratio(width, heads):
    return width // heads if type(width) is int and type(heads) is int and heads > 0 else None


def _is_number(value):
    return type(value) in (int, float) and 0 < value <= sys.float_info.max


def _stretch(rope, theirs, width, base):
    """Return what wavelengths are multiplied by, pair by pair; () for nothing, None if it is not understood.

    "linear" stretches all alike (Chen et al., 2023). "llama3", which Llama 3.1 has, leaves the pairs as they
    are that turned often in the longest text of the first training, and stretches those that hardly turned;
    between the two, the angles per position are interpolated.
    """
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default" or width > LARGEST_FIELDS["head_dim"]:  # the second is refused as such
        return ()
    factor, pairs = rope.get("factor"), width // 2
    if kind == "linear":
        return (float(factor),) * pairs if _is_number(factor) else None
    longest = theirs.get("max_position_embeddings")
    longest = rope.get("original_max_position_embeddings", longest)
    longest = theirs.get("original_max_position_embeddings", longest)
    few, many = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    if kind != "llama3" or not all(map(_is_number, (factor, longest, few, many))) or not few < many:
        return None
    turns = [longest / (math.tau * base ** (2 * pair / width)) for pair in range(pairs)]
    kept = [min(max((number - few) / (many - few), 0), 1) for number in turns]
    return tuple(1 / ((1 - share) / factor + share) for share in kept)
