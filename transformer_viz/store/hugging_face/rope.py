"""Rotary positions of a model of the hub."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from transformer_viz.language import Problem
from transformer_viz.network.checks import is_positive
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


def rotary_fields(
    theirs: Mapping[str, Any], family: Family, fields: Mapping[str, Any]
) -> tuple[dict[str, Any], float]:
    """Return the fields of rotary positions, and what rotated queries and keys are multiplied by.

    Older and newer files have them in different places.

    Args:
        theirs: Content of config.json.
        family: Of the model.
        fields: Field of our config -> its value: those of its size.

    Raises:
        ValueError: If they are incomplete, or scaled in a way that is not understood.
    """
    ropes = _ropes(theirs, family)
    share = theirs.get("partial_rotary_factor", family.defaults.get("rotary_pct", 1))
    share = theirs.get("rotary_pct", share)
    shares = [share := rope.get("partial_rotary_factor", share) for rope in ropes.values()]
    width: Any = fields.get("head_dim") or _whole_ratio(fields["d_model"], fields["num_heads"])
    _check(is_positive(share) and share <= 1 and is_positive(width) and all(each == share for each in shares))
    found: dict[str, Any] = {"rotary_width": int(width * share)}
    attention = 1.0
    for ours, (_, name, default) in family.rotary_bases.items():
        base = ropes[ours].get("rope_theta", theirs.get(name, theirs.get("rotary_emb_base", default)))
        _check(is_positive(base))
        scaling = _scaling(ropes[ours], theirs, found["rotary_width"], base)
        attention = scaling.attention
        _check(attention == 1 or len(ropes) == 1)
        found |= {ours: float(base), SCALING[ours]: scaling.factors}
        if scaling.longest is not None and type(fields["max_len"]) is int:
            found["max_len"] = min(fields["max_len"], scaling.longest)
    return found, attention


def _check(is_understood):
    if not is_understood:
        raise Problem("hugging.rope")


def _ropes(theirs, family):
    """Return field of a base of wavelengths -> what the file says of these rotary positions."""
    found = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
    _check(isinstance(found, dict))
    has_kinds = not {FULL, SLIDING}.isdisjoint(found)
    _check(not has_kinds or len(family.rotary_bases) > 1)
    by_kind = found if has_kinds else {FULL: found}
    ropes = {ours: by_kind.get(kind) or {} for ours, (kind, _, _) in family.rotary_bases.items()}
    _check(all(isinstance(rope, dict) for rope in ropes.values()))
    return ropes


def _whole_ratio(width, heads):
    return width // heads if type(width) is int and type(heads) is int and heads > 0 else None


def _scaling(rope, theirs, width, base) -> Scaling:
    """Return the scaling of one base.

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
        _check(is_positive(factor))
        return Scaling((float(factor),) * pairs)
    original = rope.get("original_max_position_embeddings", longest)
    original = theirs.get("original_max_position_embeddings", original)
    _check(isinstance(kind, str) and kind in KINDS and is_positive(original) and original > 1)
    if factor is None and kind != "llama3" and is_positive(longest):
        factor = longest / original
    _check(is_positive(factor))
    turns = [original / (math.tau * base ** (2 * pair / width)) for pair in range(pairs)]
    found = KINDS[kind](rope, factor, original, turns)
    if (given := rope.get("attention_factor")) is not None:
        found = found._replace(attention=given)
    _check(is_positive(found.attention) and found.attention <= LARGEST_ATTENTION)
    return found


def _llama3(rope, factor, _, turns):
    few, many = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    _check(is_positive(few) and is_positive(many) and few < many)
    return Scaling(_interpolated(factor, [(number - few) / (many - few) for number in turns]))


def _yarn(rope, factor, _, turns):
    """Interpolate over the number of a pair, from the one that turns 32 times to the one that turns once."""
    many, few = rope.get("beta_fast") or 32, rope.get("beta_slow") or 1
    ratio = turns[0] / turns[1] if len(turns) > 1 else math.inf  # of the turns of two neighbours
    _check(is_positive(few) and is_positive(many) and 1 < ratio < math.inf)
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
    _check(isinstance(factors, list) and len(factors) == len(turns) and all(map(is_positive, factors)))
    attention = math.sqrt(1 + math.log(max(factor, 1)) / math.log(original))
    return Scaling(tuple(map(float, factors)), attention, int(original))


def _interpolated(factor, kept):
    """Return scaling factors from 1, where a pair's angles are kept, to `factor`."""
    shares = [min(max(share, 0), 1) for share in kept]
    return tuple(1 / ((1 - share) / factor + share) for share in shares)


KINDS = {"llama3": _llama3, "yarn": _yarn, "longrope": _longrope, "su": _longrope}
"""Type of a scaling with a context of pre-training -> function that reads it."""
