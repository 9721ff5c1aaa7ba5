"""Rotary positions of a model of the hub."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from transformer_viz.network.checks import is_positive
from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.families import FULL, SLIDING, Family
from transformer_viz.store.limits import LARGEST_FIELDS

SCALING = {"rotary_base": "rotary_scaling", "window_rotary_base": "window_rotary_scaling"}
"""Field of a base of wavelengths -> field of their scaling factors."""

LARGEST_ATTENTION = 100.0
"""Largest factor of rotated queries and keys; those of real models are below 2."""


class Scaling(NamedTuple):
    """How rotary positions are scaled in a model whose context was extended after pre-training.

    Attributes:
        factors: Of the wavelength of each pair; () if they are all 1.
        attention: What the rotated numbers of queries and of keys are multiplied by.
        longest: Tokens of the longest text this holds for; None: of any.
    """

    factors: tuple[float, ...] = ()
    attention: float = 1.0
    longest: int | None = None


def rotary(
    file: Path, theirs: Mapping[str, Any], family: Family, values: Mapping[str, Any]
) -> tuple[dict[str, Any], float]:
    """Return the fields of rotary positions, and what rotated queries and keys are multiplied by.

    Older and newer files have them in different places. Arguments as for `by_layer.windows`.

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
    width, fields, attention = int(width * share), dict[str, Any](), 1.0
    for ours, base in bases.items():
        scaling = _scaling(ropes[ours], theirs, width, base)
        if scaling is None or (scaling.attention != 1 and len(bases) > 1):
            raise ModelError("hugging.rope", file=file)
        fields |= {ours: float(base), SCALING[ours]: scaling.factors}
        attention = scaling.attention
        if scaling.longest is not None and type(values["max_len"]) is int:
            fields["max_len"] = min(values["max_len"], scaling.longest)
    return fields | {"rotary_width": width}, attention


def _whole_ratio(width, heads):
    return width // heads if type(width) is int and type(heads) is int and heads > 0 else None


def _scaling(rope, theirs, width, base) -> Scaling | None:
    """Return the scaling of one base; None if it is not understood.

    "linear" multiplies all wavelengths by one factor (Chen et al., 2023). "llama3", as in Llama 3.1, and
    "yarn" (Peng et al., 2024, YaRN, section 3) leave alone the pairs that turn often within the context of
    pre-training, and multiply the wavelengths of those that hardly turn; between the two, the angles per
    position are interpolated. "longrope" (Ding et al., 2024) has a factor for each pair, others in texts
    longer than those of pre-training; "dynamic" scales nothing but in such texts.
    """
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind in ("default", "dynamic") or width > LARGEST_FIELDS["head_dim"]:  # the last is refused as such
        return Scaling()
    factor, pairs, longest = rope.get("factor"), width // 2, theirs.get("max_position_embeddings")
    if kind == "linear":
        return Scaling((float(factor),) * pairs) if is_positive(factor) else None
    original = rope.get("original_max_position_embeddings", longest)
    original = theirs.get("original_max_position_embeddings", original)
    if not is_positive(original) or original <= 1:
        return None
    if factor is None and kind != "llama3" and is_positive(longest):
        factor = longest / original
    if not isinstance(kind, str) or kind not in KINDS or not is_positive(factor):
        return None
    turns = [original / (math.tau * base ** (2 * pair / width)) for pair in range(pairs)]
    found = KINDS[kind](rope, factor, original, turns)
    given = rope.get("attention_factor")
    if found is not None and given is not None:
        found = found._replace(attention=given) if is_positive(given) else None
    return found if found is not None and found.attention <= LARGEST_ATTENTION else None


def _llama3(rope, factor, _, turns):
    few, many = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    if not is_positive(few) or not is_positive(many) or not few < many:
        return None
    return Scaling(_interpolated(factor, [(number - few) / (many - few) for number in turns]))


def _yarn(rope, factor, _, turns):
    """Interpolate over the number of a pair, from the one that turns 32 times to the one that turns once."""
    many, few = rope.get("beta_fast") or 32, rope.get("beta_slow") or 1
    ratio = turns[0] / turns[1] if len(turns) > 1 else math.inf  # of the turns of two neighbours
    if not is_positive(few) or not is_positive(many) or not 1 < ratio < math.inf:
        return None
    first, last = (math.log(turns[0] / number) / math.log(ratio) for number in (many, few))
    if rope.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * len(turns) - 1)
    last = first + 0.001 if first == last else last
    factors = _interpolated(factor, [(last - pair) / (last - first) for pair in range(len(turns))])
    grown, scales = 0.1 * math.log(max(factor, 1)), (rope.get("mscale"), rope.get("mscale_all_dim"))
    if not all(map(is_positive, scales)):
        return Scaling(factors, grown + 1)
    above, below = scales
    return Scaling(factors, (grown * above + 1) / (grown * below + 1))


def _longrope(rope, factor, original, turns):
    factors = rope.get("short_factor")
    if not isinstance(factors, list) or len(factors) != len(turns) or not all(map(is_positive, factors)):
        return None
    attention = math.sqrt(1 + math.log(max(factor, 1)) / math.log(original))
    return Scaling(tuple(map(float, factors)), attention, int(original))


def _interpolated(factor, kept):
    """Return scaling factors from 1, where a pair's angles are kept, to `factor`."""
    shares = [min(max(share, 0), 1) for share in kept]
    return tuple(1 / ((1 - share) / factor + share) for share in shares)


KINDS = {"llama3": _llama3, "yarn": _yarn, "longrope": _longrope, "su": _longrope}
"""Type of a scaling with a context of pre-training -> function that reads it."""
