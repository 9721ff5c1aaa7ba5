"""Changes to a text that grows while a model writes it."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.interventions import attention_kinds
from transformer_viz.trace.request import OWN, Changes, Request


def with_written(config: TransformerConfig, request: Request, written: Sequence[int]) -> Request:
    """Return the request with the target that an encoder-decoder has written to it.

    Args:
        config: Of the model.
        request: Without a target.
        written: Token ids, without [START] and [END]; one too many is dropped, since [START], and any [PAD]
            behind the target, need positions too.
    """
    start = len(config.target_start or ())
    target = tuple(written[: (config.target_max_len or 0) - start - request.changes.target_padding])
    changes = up_to(config, request.changes, start + len(target))
    return dataclasses.replace(request, target=target, changes=changes)


def sized(config: TransformerConfig, changes: Changes) -> str | None:
    """Return the first change that has the size of the written text; None if there is none.

    Such a change fits one text only: a mask or a pattern with a row for each token, painted masks, position
    ids, and the activations of all positions of another run. Names, single rows, heads, edges and single
    positions hold at any size.

    Args:
        config: Of a model with a decoder.
        changes: The changes.

    Returns:
        Name of the attribute of `Changes`.
    """
    masks = {"attention_mask": (-2, -1)}
    if config.has_encoder:
        masks = {"target_attention_mask": (-2, -1), "cross_attention_mask": (-2,)}
    elif changes.position_ids is not None:
        return "position_ids"
    for name, axes in masks.items():
        mask = getattr(changes, name)
        if isinstance(mask, str):
            if "painted:" in mask:
                return name
        elif mask is not None and any(np.atleast_2d(mask).shape[axis] > 1 for axis in axes):
            return name
    for head, pattern in changes.patterns:
        if _grows(config, head) and not isinstance(pattern, str):
            return "patterns"
    for patch in changes.patches:
        if _grows(config, patch.site.split(".")) and patch.positions is None:
            return "patches"
    return None


def looks_back(config: TransformerConfig, changes: Changes) -> bool:
    """Return whether, under these changes, each token is still predicted from earlier tokens alone.

    Then one pass over the whole text predicts every token as a pass over the text before it does. A mask, a
    pattern, activations of another run, or a mean over the text may bring in later tokens.

    Args:
        config: Of a model with a decoder.
        changes: The changes.
    """
    ahead = {"patterns", "patches", "target_attention_mask", "cross_attention_mask", "target_padding"}
    if not config.has_encoder:
        ahead |= {"attention_mask", "padding"}
    return changes.reference != OWN and ahead.isdisjoint(changes.changed_fields)


def up_to(config: TransformerConfig, changes: Changes, length: int) -> Changes:
    """Return the changes to the first positions of the written text.

    Edges and patched positions that this text does not have yet are left out. Those beyond what the model can
    write stay, so that they are refused.

    Args:
        config: Of a model with a decoder.
        changes: The changes.
        length: Number of positions so far, [START] included.
    """
    most = (config.target_max_len if config.has_encoder else config.max_len) or 0

    def is_there(edge):
        ends = edge[-2:-1] if edge[:1] == ("cross",) else edge[-2:]
        return not _grows(config, edge) or all(end < length or end >= most for end in ends)

    def shortened(patch):
        if patch.positions is None or not _grows(config, patch.site.split(".")):
            return patch
        return patch._replace(positions=tuple(p for p in patch.positions if p < length or p >= most))

    return dataclasses.replace(
        changes,
        cut=tuple(filter(is_there, changes.cut)),
        mute=tuple(filter(is_there, changes.mute)),
        patches=tuple(map(shortened, changes.patches)),
    )


def _grows(config, place):
    """Return whether a head, an edge or a site is in the stack that reads the written text."""
    kind = place[0] if place and isinstance(place[0], str) else attention_kinds(config)[0]
    return kind in ("decoder", "cross")
