"""The two runs that the Masks page compares: with the chosen mask and with a reference mask."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.pictures.labels import axis_tokens
from transformer_viz.ui.pages.masks.choice import Choice, name_of
from transformer_viz.ui.shell.answers import answer
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.growing import sized
from transformer_viz.values.request import Request
from transformer_viz.values.special import PAD
from transformer_viz.values.trace import Trace


class Head(NamedTuple):
    """One head under one mask.

    Attributes:
        name: One of `choice.MASK_CHOICES`.
        scores: float32 (query, key), before the mask.
        weights: float32 (query, key).
        mask: bool (query, key), True = may attend.
        rows: Display strings of the queries.
        columns: Display strings of the keys.
        row_padding: bool (query,), True at [PAD].
        column_padding: bool (key,), True at [PAD].
        same_tokens: Whether queries and keys are the same tokens.
        has_bias: Whether the scores hold a relative position bias.
        is_capped: Whether they have a cap.
    """

    name: str
    scores: np.ndarray
    weights: np.ndarray
    mask: np.ndarray
    rows: list[str]
    columns: list[str]
    row_padding: np.ndarray
    column_padding: np.ndarray
    same_tokens: bool
    has_bias: bool = False
    is_capped: bool = False


class Side(NamedTuple):
    """One run: name of its mask, kind of attention that has it, request, trace."""

    name: str
    kind: str
    request: Request
    trace: Trace

    @property
    def writes_target(self) -> bool:
        """Whether the queries are tokens of an encoder-decoder's target."""
        return self.kind != "encoder" and bool(self.trace.encoder)

    @property
    def query_ids(self) -> np.ndarray:
        """Token ids of the queries: int32 (query,)."""
        return self.trace.target_ids if self.writes_target else self.trace.token_ids

    @property
    def key_ids(self) -> np.ndarray:
        """Token ids of the keys: int32 (key,)."""
        return self.trace.token_ids if self.kind == "cross" else self.query_ids

    @property
    def has_bias(self) -> bool:
        """Whether the scores hold a relative position bias."""
        values = self.trace.values
        bias = values.target_position_bias if self.writes_target else values.position_bias
        return self.kind != "cross" and bias is not None

    def mask_of(self, layer: int) -> np.ndarray:
        """Return the mask of the attention of one layer: bool (query, key)."""
        mask = self.trace.kinds()[self.kind].mask_of(layer)[0]
        return np.broadcast_to(mask, (1, len(self.query_ids), len(self.key_ids)))[0]

    def equals(self, other: "Side") -> bool:
        """Return whether the other run has the same mask in all layers."""
        layers = range(len(self.trace.kinds()[self.kind].layers))
        return all(np.array_equal(self.mask_of(layer), other.mask_of(layer)) for layer in layers)

    def head(self, layer: int, head: int) -> Head:
        """Return one head of the attention, 0-based."""
        found = self.trace.kinds()[self.kind]
        return Head(
            self.name,
            found.layers[layer].scores[head],
            found.layers[layer].weights[head],
            self.mask_of(layer),
            axis_tokens(self.trace, found.query_tokens),
            axis_tokens(self.trace, found.key_tokens),
            _are_padding(found.query_tokens),
            _are_padding(found.key_tokens),
            self.kind != "cross",
            self.has_bias,
            self.trace.values.score_cap is not None,
        )


def looking_ahead(trace: Trace, kind: str) -> tuple[int, int] | None:
    """Return layer and head, 0-based, with most weight on later tokens: a causal mask changes it most.

    None: there is no such weight, or queries and keys are other tokens.
    """
    if kind == "cross":
        return None
    ahead = np.stack([np.triu(layer.weights, 1).sum(axis=(1, 2)) for layer in trace.kinds()[kind].layers])
    layer, head = np.unravel_index(ahead.argmax(), ahead.shape)
    return (int(layer), int(head)) if ahead.max() > 0 else None


def _are_padding(tokens):
    return np.array([token == PAD for token in tokens], bool)


def room_for_padding(trace: Trace, config: TransformerConfig, kind: str) -> int:
    """Return how many [PAD] the model can take after the tokens of the keys."""
    if kind == "decoder" and trace.encoder:
        return (config.target_max_len or config.max_len) - len(trace.target_ids)
    return config.max_len - len(trace.token_ids)


def compare(
    request: Request, choice: Choice, kind: str, layer: int, *, translates: bool
) -> tuple[Side, Side] | None:
    """Return the run with the chosen mask and the reference run; None if either has no answer.

    The reference is the model's own mask, or no mask if the chosen mask equals the model's own.

    Args:
        request: Without mask and padding.
        choice: The chosen mask and padding.
        kind: Kind of attention to mask: "encoder", "decoder" or "cross".
        layer: Layer, 0-based, whose mask is painted first.
        translates: Whether the model is an encoder-decoder.
    """
    field, padding = _fields(kind, translates=translates)
    request = _with(request, padding, choice.padding)
    own = _side("own", kind, request)
    if own is None:
        return None
    name = name_of(choice, own.mask_of(layer), own.key_ids, ordered=kind != "cross")
    chosen = own
    if name is not None:
        chosen = _side(choice.kind, kind, _with(request, field, name))
    other = own
    if chosen is not None and chosen.equals(own):
        other = _side("none", kind, _with(request, field, "none"))
    return None if chosen is None or other is None else (chosen, other)


def _fields(kind, *, translates):
    """Return the fields of `Changes` for the mask of an attention and the padding of its keys."""
    if kind == "cross":
        return "cross_attention_mask", "padding"
    if kind == "decoder" and translates:
        return "target_attention_mask", "target_padding"
    return "attention_mask", "padding"


def _with(request, field, value):
    """Return a copy of a request with a field of `Changes` changed."""
    changes: dict[str, Any] = {field: value}
    return request.changed(**changes)


def _side(name, kind, request) -> Side | None:
    trace = answer(request)
    return None if trace is None else Side(name, kind, request, trace)


def with_target_of(config: TransformerConfig, request: Request, trace: Trace) -> Request:
    """Return the request with the target that was written to it, on which all masks are compared."""
    if request.target is not None or not trace.target_ids.size:
        return request
    start = len(config.target_start or ())
    return dataclasses.replace(request, target=tuple(trace.target_ids[start:].tolist()))


def writings(sides: tuple[Side, Side], config: TransformerConfig) -> tuple[Trace, Trace] | None:
    """Return the runs with the targets that an encoder-decoder writes with either mask.

    None if one has no answer, or a painted mask has the size of the target at hand and fits no other.
    """
    if any(sized(config, side.request.changes) for side in sides):
        return None
    one, other = (answer(dataclasses.replace(side.request, target=None)) for side in sides)
    return None if one is None or other is None else (one, other)


def on_attention(
    sides: tuple[Side, Side], config: TransformerConfig, request: Request, unchanged: Trace
) -> tuple[Request, Request] | None:
    """Return the requests of both runs as the Attention page asks them, the reference first.

    An encoder-decoder generates its target there. A painted mask fits one length of the target only, so the
    target is then given as text; None if that text is tokenized otherwise.

    Args:
        sides: The run with the chosen mask, and the reference.
        config: Of the model.
        request: Without mask and padding.
        unchanged: Its answer.
    """
    target = request.target
    if (
        target is None
        and unchanged.target_ids.size
        and any(sized(config, side.request.changes) for side in sides)
    ):
        target = unchanged.target_text
        found = answer(dataclasses.replace(request, target=target))
        if found is None or not np.array_equal(found.target_ids, unchanged.target_ids):
            return None
    after, before = (dataclasses.replace(side.request, target=target) for side in sides)
    return before, after
