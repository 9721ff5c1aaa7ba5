"""Interventions in a forward pass: changes to heads, edges, patterns and activations, as tensors."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.tensors import BlockIntervention, Intervention, Patch
from transformer_viz.trace.request import Changes
from transformer_viz.trace.trace import Trace

PATTERNS = ("uniform", "previous")
"""Named replacements of a head's attention: uniform over all unmasked keys, or all on the previous token
(the first token attends to itself)."""

RESID_SITES = ("resid_pre", "resid_mid", "resid_cross", "resid_post")
"""Points of a block at which the residual stream can be patched."""

ATTENTION_KINDS = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
"""Kind of attention -> its stack and its field in the block's trace."""


class ActivationPatch(NamedTuple):
    """An activation of another run that replaces this run's (Meng et al., 2022, "causal tracing").

    Attributes:
        source: `Trace` of the other run.
        site: "encoder.0.resid_mid", "decoder.1.resid_post", ... (one of `RESID_SITES`), or a head's context:
            "encoder.0.context.3", "cross.1.context.0".
        positions: Patched positions; None: all, and both texts must have the same number of tokens.
    """

    source: Trace
    site: str
    positions: tuple[int, ...] | None = None

    def __repr__(self):
        return short_repr(self)


def attention_kinds(config: TransformerConfig) -> tuple[str, ...]:
    """Return the kinds of attention of a model, the first stack's self-attention first."""
    return (*config.stacks, "cross") if len(config.stacks) == 2 else tuple(config.stacks)


def all_heads(config: TransformerConfig) -> list[tuple[str, int, int]]:
    """Return (kind, layer, head) of every head of a model, in the order of `attention_kinds`."""
    return [
        (kind, layer, head)
        for kind in attention_kinds(config)
        for layer in range(config.stacks[ATTENTION_KINDS[kind][0]])
        for head in range(config.num_heads)
    ]


def by_kind(numbers: Iterable[tuple[tuple[str, int, int], float]]) -> dict[str, np.ndarray]:
    """Return kind -> float32 (layer, head).

    Args:
        numbers: ((kind, layer, head), number) pairs, in the order of `all_heads`.
    """
    found: dict[str, dict[int, list[float]]] = {}
    for (kind, layer, _), number in numbers:
        found.setdefault(kind, {}).setdefault(layer, []).append(number)
    return {kind: np.array(list(layers.values()), np.float32) for kind, layers in found.items()}


def build(
    config: TransformerConfig,
    changes: Changes,
    lengths: Mapping[str, int],
    masks: Mapping[str, np.ndarray],
    means: Mapping[str, np.ndarray] | None = None,
) -> dict[str, BlockIntervention]:
    """Return stack -> `BlockIntervention` whose arrays have a leading layer axis; neutral where unchanged.

    Args:
        config: `TransformerConfig`.
        changes: Source of ablate, ablate_ffn, cut, mute, patterns, patches, scaling and residual; the rest is
            ignored.
        lengths: Stack -> its number of positions.
        masks: Kind -> bool, broadcastable to (layer, head, query, key), True = may attend; for the pattern
            "uniform".
        means: Kind -> float (layer, head, value_dim), the replacement of an ablated context; None: zero.

    Raises:
        ValueError: If a change refers to a head, a feed-forward layer, an edge or an activation that does not
            exist.
    """
    heads = config.num_heads
    tensors = {kind: _neutral(config.stacks[ATTENTION_KINDS[kind][0]]) for kind in attention_kinds(config)}
    if not changes.scaling:
        for part in tensors.values():
            part["score_gate"] = part["score_gate"] * np.float32(np.sqrt(config.head_dim))
    shapes = {}
    for kind in tensors:
        stack = ATTENTION_KINDS[kind][0]
        keys = lengths["encoder" if kind == "cross" else stack]
        shapes[kind] = (config.stacks[stack], heads, lengths[stack], keys)
    for head in changes.ablate:
        kind, (layer, number) = _index(head, "head", shapes)
        part = _expanded(tensors[kind], "head_gate", (shapes[kind][0], heads, 1, 1))
        part[layer, number] = 0
        if means:
            shape = (shapes[kind][0], heads, 1, config.value_dim)
            _expanded(tensors[kind], "context_patch", shape)[layer, number] = means[kind][layer, number]
    for field, edges, value in (("score_bias", changes.cut, -np.inf), ("weight_gate", changes.mute, 0)):
        for edge in edges:
            kind, place = _index(edge, "edge", shapes)
            _expanded(tensors[kind], field, shapes[kind])[place] = value
    for head, pattern in changes.patterns:
        kind, place = _index(head, "head", shapes)
        _expanded(tensors[kind], "weight_gate", shapes[kind])[place] = 0
        weights = _pattern(pattern, shapes[kind], masks[kind], place)
        _expanded(tensors[kind], "weight_patch", shapes[kind])[place] = weights
    ffn_gates = {stack: np.ones((layers, 1, 1), np.float32) for stack, layers in config.stacks.items()}
    for place in changes.ablate_ffn:
        stack, layer = _ffn(config, place)
        ffn_gates[stack][layer] = 0
    resids = {stack: _neutral_patches(stack, config) for stack in config.stacks}
    for patch in changes.patches:
        _apply_patch(patch, config, tensors, resids, shapes)
    return {
        stack: BlockIntervention(
            Intervention(**tensors[stack]),
            Intervention(**tensors["cross"]) if stack == "decoder" and "cross" in tensors else None,
            **{name: Patch(**arrays) for name, arrays in resids[stack].items()},
            residual=np.full((config.stacks[stack], 1, 1, 1), changes.residual, np.float32),
            ffn_gate=ffn_gates[stack],
        )
        for stack in config.stacks
    }


def _neutral(layers):
    one, zero = np.ones((layers, 1, 1, 1), np.float32), np.zeros((layers, 1, 1, 1), np.float32)
    gates = dict.fromkeys(("head_gate", "weight_gate", "score_gate"), one)
    return gates | dict.fromkeys(("score_bias", "weight_patch", "context_patch"), zero)


def _neutral_patches(stack, config):
    """Return site -> field -> neutral array of a stack."""
    shape, has_cross = (config.stacks[stack], 1, 1), "cross" in attention_kinds(config) and stack == "decoder"
    return {
        name: {"gate": np.ones(shape, np.float32), "value": np.zeros(shape, np.float32)}
        for name in RESID_SITES
        if name != "resid_cross" or has_cross
    }


def _expanded(tensors, field, shape):
    """Return the array of a field, expanded to `shape` so that single entries can be written."""
    if tensors[field].shape != shape:
        tensors[field] = np.broadcast_to(tensors[field], np.broadcast_shapes(tensors[field].shape, shape))
    tensors[field] = np.array(tensors[field])
    return tensors[field]


def _index(where, what, shapes) -> tuple[str, tuple]:
    """Return kind of attention and index of "(layer, head)" or "(kind, layer, head)"."""
    kind, index = next(iter(shapes)), tuple(where) if isinstance(where, list | tuple) else (where,)
    if index and isinstance(index[0], str):
        kind, index = index[0], index[1:]
        if kind not in shapes:
            raise Problem("change.kind", kind=kind, kinds=[*shapes])
    names = ("layer", "head", "query", "key")[: {"head": 2, "edge": 4}[what]]
    shape = shapes[kind][: len(names)]
    exists = len(index) == len(shape) and all(
        isinstance(i, int | np.integer) and 0 <= i < size for i, size in zip(index, shape, strict=True)
    )
    if not exists:
        last = {name: size - 1 for name, size in zip(names, shape, strict=True)}
        raise Problem(f"change.{what}", place=str(index), **last)
    return kind, index


def _ffn(config, where) -> tuple[str, int]:
    """Return stack and layer of "layer" or "(stack, layer)"."""
    if not config.ffn_dim:
        raise Problem("change.no_ffn")
    is_pair = isinstance(where, tuple) and len(where) == 2
    stack, layer = where if is_pair else (next(iter(config.stacks)), where)
    if not (isinstance(layer, int | np.integer) and 0 <= layer < config.stacks.get(stack, 0)):
        last = ", ".join(f"('{name}', {count - 1})" for name, count in config.stacks.items())
        raise Problem("change.ffn", place=repr(where), last=last)
    return stack, int(layer)


def _pattern(pattern, sizes, mask, place):
    """Return the weights of a pattern at (layer, head): float32 (query, key)."""
    shape = sizes[2:]
    if isinstance(pattern, str):
        if pattern not in PATTERNS:
            raise ValueError(f"A pattern must be one of {', '.join(PATTERNS)} or an array: not {pattern!r}.")
        if pattern == "previous":
            return np.eye(*shape, k=-1, dtype=np.float32) + np.eye(1, shape[0] * shape[1]).reshape(shape)
        allowed = np.broadcast_to(mask, sizes)[place].astype(np.float32)
        return allowed / np.maximum(allowed.sum(axis=-1, keepdims=True), 1)
    weights = np.asarray(pattern, dtype=np.float32)
    if weights.shape != shape or not np.isfinite(weights).all():
        raise ValueError(
            f"A pattern must be finite numbers of shape (query, key) = {shape}. Received: {weights.shape}."
        )
    return weights


def _apply_patch(patch, config, tensors, resids, shapes):
    """Write an activation of another run into the tensors."""
    match patch.site.split("."):
        case [stack, layer, name] if stack in resids and layer.isdigit() and name in RESID_SITES:
            place, shape, width = (int(layer),), shapes[stack][:1] + shapes[stack][2:3], config.d_model
            part, gate, out, field = resids[stack][name], "gate", "value", name
        case [kind, layer, "context", head] if kind in shapes and layer.isdigit() and head.isdigit():
            _, place = _index((kind, int(layer), int(head)), "head", shapes)
            shape, width, stack = shapes[kind][:3], config.value_dim, ATTENTION_KINDS[kind][0]
            part, gate, out, field = tensors[kind], "head_gate", "context_patch", ATTENTION_KINDS[kind][1]
        case _:
            raise ValueError(
                f"There is no place {patch.site!r} to patch. Write, for example, "
                f"'{next(iter(resids))}.0.resid_mid' or '{next(iter(tensors))}.0.context.1'."
            )
    value = _activation(patch, stack, place, field, shape[-1], width)
    where = list(range(shape[-1]) if patch.positions is None else patch.positions)
    _expanded(part, gate, (*shape, 1))[place][where] = 0
    _expanded(part, out, (*shape, width))[place][where] = value[where]


def _activation(patch, stack, place, field, length, width):
    """Return the other run's activation, its shape checked: float (position, width)."""
    blocks = getattr(patch.source, stack)
    value = getattr(blocks[place[0]], field) if place[0] < len(blocks) else None
    if len(place) == 2 and value is not None and value.context is not None:
        value = value.context[place[1]]
    if not isinstance(value, np.ndarray):
        raise ValueError(f"The other run has no {patch.site!r}. Trace it with the same model, keeping all.")
    if value.shape[1] != width or (patch.positions is None and len(value) != length):
        raise ValueError(
            f"The other run's {patch.site!r} has shape {value.shape}, this one's {(length, width)}. Take the "
            "same model, and texts with as many tokens or some `positions`."
        )
    last = min(length, len(value)) - 1
    if any(not 0 <= position <= last for position in patch.positions or ()):
        raise ValueError(f"`positions` must be from 0 to {last}. Received: {patch.positions}.")
    return value
