"""Rotary positions of a model of the hub."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import FULL, SLIDING, Family
from transformer_viz.store.limits import LARGEST_FIELDS
from transformer_viz.values.checks import is_positive

SCALING = {"rotary_base": "rotary_scaling", "window_rotary_base": "window_rotary_scaling"}
"""Field of a base of wavelengths -> field of their scaling factors."""


def rotary(
    file: Path, theirs: Mapping[str, Any], family: Family, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of rotary positions; older and newer files have them in different places.

    Arguments as for `by_layer.windows`.

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
    good = all(map(is_positive, (*bases.values(), share, width))) and share <= 1
    if not good or len(shares) > 1:
        raise ModelError("hugging.rope", file=file)
    width, fields = int(width * share), dict[str, Any]()
    for ours, base in bases.items():
        scaling = _scaling(ropes[ours], theirs, width, base)
        if scaling is None:
            raise ModelError("hugging.rope", file=file)
        fields |= {ours: float(base), SCALING[ours]: scaling}
    return fields | {"rotary_width": width}


def _whole_ratio(width, heads):
    return width // heads if type(width) is int and type(heads) is int and heads > 0 else None


def _scaling(rope, theirs, width, base):
    """Return the scaling factor of each pair's wavelength; () without scaling, None if it is not understood.

    "linear" multiplies all by one factor (Chen et al., 2023). "llama3", as in Llama 3.1, leaves alone the
    pairs that turn often within the context of pre-training, and multiplies the wavelengths of those that
    hardly turn; between the two, the angles per position are interpolated.
    """
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default" or width > LARGEST_FIELDS["head_dim"]:  # the second is refused as such
        return ()
    factor, pairs = rope.get("factor"), width // 2
    if kind == "linear":
        return (float(factor),) * pairs if is_positive(factor) else None
    longest = theirs.get("max_position_embeddings")
    longest = rope.get("original_max_position_embeddings", longest)
    longest = theirs.get("original_max_position_embeddings", longest)
    few, many = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    if kind != "llama3" or not all(map(is_positive, (factor, longest, few, many))) or not few < many:
        return None
    turns = [longest / (math.tau * base ** (2 * pair / width)) for pair in range(pairs)]
    kept = [min(max((number - few) / (many - few), 0), 1) for number in turns]
    return tuple(1 / ((1 - share) / factor + share) for share in kept)
