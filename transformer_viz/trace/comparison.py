"""Two traces compared: their tokens aligned, and every tensor of the one minus that of the other."""

import difflib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.tensors import Attentions, ModelTrace, flatten, restore
from transformer_viz.trace.order import Order, permutation_of
from transformer_viz.trace.trace import Trace

MISSING = -1
"""Place of a token that the other text does not have."""

CHANGED = " → "
"""Stands between a token and the one that took its place."""

TARGET_SIDE = ("target_token_embedding", "target_position_embedding")
"""Tensors of the whole model with the positions of the target; the others have those of the text."""


class AnswerChange(NamedTuple):
    """What became of A's answer.

    Attributes:
        label: Its number among the labels of the traces.
        before: Its probability in A, in [0, 1].
        after: Its probability in B.
        log_odds: log(p / (1 - p)) in B minus that in A; it still tells apart what both have close to 1.
        likeliest: Number of B's answer, and its probability in B.
    """

    label: int
    before: float
    after: float
    log_odds: float
    likeliest: tuple[int, float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two traces and their difference B - A, with the fields of a trace.

    Each row and column belongs to an aligned token: one that both texts have, or one without a counterpart,
    at which differences are NaN.

    Attributes:
        a: The trace before.
        b: The trace after.
        rows: int (row, 2), positions of each aligned token in the texts of A and of B; -1: it has none there.
        target_rows: The same for the targets of an encoder-decoder; no rows without one.
    """

    a: Trace
    b: Trace
    rows: np.ndarray
    target_rows: np.ndarray

    def __repr__(self):
        return short_repr(self, ("a", "b", "tokens"))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The aligned tokens; "good → bad" where one took the place of another."""
        return merged(self.rows, self.a.tokens, self.b.tokens)

    @property
    def target_tokens(self) -> tuple[str, ...]:
        """The aligned tokens of the targets."""
        return merged(self.target_rows, self.a.target_tokens, self.b.target_tokens)

    @property
    def encoder(self) -> tuple:
        """The difference of each block of the encoder, as `Trace.encoder` has them."""
        return self.values.encoder

    @property
    def decoder(self) -> tuple:
        """The difference of each block of the decoder, as `Trace.decoder` has them."""
        return self.values.decoder

    @property
    def logits(self) -> np.ndarray:
        """B - A, with aligned tokens where the model predicts tokens."""
        return self.values.logits

    @functools.cached_property
    def probs(self) -> np.ndarray:
        """B - A in [-1, 1]: float32 (label,), or (token, label) with the aligned tokens."""
        if self.a.labels != self.b.labels:
            raise Problem("comparison.labels", a=self.a.model, b=self.b.model)
        if self.a.probs.ndim == 1:
            return self.b.probs - self.a.probs
        return _difference(self.a.probs, self.b.probs, {0: self._rows_of(target=bool(self.a.decoder))})

    @functools.cached_property
    def values(self) -> ModelTrace:
        """B - A of every tensor that both traces have in the same width; None for the others and masks."""
        ours, theirs = flatten(self.a.values), flatten(self.b.values)
        found = {}
        for name in ours.keys() & theirs.keys():
            one, other = ours[name], theirs[name]
            axes = self._axes(name)
            if one.dtype == bool or any(
                axis not in axes and size != other.shape[axis] for axis, size in enumerate(one.shape)
            ):
                continue
            found[name] = _difference(one, other, axes)
        return restore(ModelTrace, "", found)

    @functools.cached_property
    def moved(self) -> dict[str, np.ndarray]:
        """Kind of attention -> float32 (layer, head) in [0, 1]: the share of weight that is on other keys.

        Total variation, half the sum of |B - A| over the keys of both texts, averaged over the queries that
        both texts have.
        """
        return {kind: _moved(*sides) for kind, sides in self.sides().items()}

    def kinds(self) -> dict[str, Attentions]:
        """Return kind of attention -> the differences of its layers; its mask: what either may attend to."""
        found = {}
        for kind, (one, other) in self.sides().items():
            layers = [
                ours._replace(
                    **dict.fromkeys(ours._fields)
                    | {
                        name: getattr(theirs, name) - getattr(ours, name)
                        for name in ("weights", "scores")
                        if getattr(ours, name) is not None and getattr(theirs, name) is not None
                    }
                )
                for ours, theirs in zip(one.layers, other.layers, strict=True)
            ]
            found[kind] = Attentions(layers, one.mask | other.mask, one.query_tokens, one.key_tokens)
        return found

    def sides(self) -> dict[str, tuple[Attentions, Attentions]]:
        """Return kind of attention -> A's and B's layers with aligned tokens, of weights and scores.

        Where a side lacks a token its weights and scores are NaN and its mask is False.

        Raises:
            ValueError: If the models differ in their kinds of attention, layers or heads.
        """
        ours, theirs, found = self.a.kinds(), self.b.kinds(), {}
        if not self.has_same_heads:
            raise Problem("comparison.heads", a=self.a.model, b=self.b.model)
        for kind in ours:
            queries, keys = self._sides_of(kind)
            tokens = tuple(self._tokens_of(target) for target in (queries, keys))
            found[kind] = tuple(
                _aligned(each[kind], self._rows_of(queries)[:, side], self._rows_of(keys)[:, side], tokens)
                for side, each in enumerate((ours, theirs))
            )
        return found

    def placed(self, kind: str, cells: np.ndarray, *, after: bool) -> np.ndarray:
        """Return an array with a number for each cell at the aligned tokens; NaN where the side lacks one.

        Args:
            kind: Kind of attention.
            cells: float (layer, head, query, key) of one side.
            after: Whether that side is B.
        """
        rows, columns = (self._rows_of(target)[:, int(after)] for target in self._sides_of(kind))
        return _taken(_taken(cells, rows, 2), columns, 3)

    @property
    def has_same_heads(self) -> bool:
        """Whether both models have the same kinds of attention, layers and heads."""
        return _heads(self.a.kinds()) == _heads(self.b.kinds())

    def answer(self) -> AnswerChange | None:
        """Return what became of A's answer.

        None with an encoder-decoder, which answers with a text, or if the models have other labels or none.

        The answer is the likeliest class; for a decoder the likeliest next token; for a masked language model
        the likeliest token at the first [MASK], without one at the last position.
        """
        writes = any(each.encoder and each.decoder for each in (self.a, self.b))
        if (
            writes
            or not self.a.labels
            or self.a.labels != self.b.labels
            or self.a.probs.ndim != self.b.probs.ndim
        ):
            return None
        before, after = self.a.answer_probs, self.b.answer_probs
        label = int(before.argmax())
        change = _log_odds(after, label) - _log_odds(before, label)
        likeliest = int(after.argmax()), float(after.max())
        return AnswerChange(label, float(before[label]), float(after[label]), change, likeliest)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row for each weight.

        Returns:
            Columns kind, layer, head, query, key (0-based, of aligned tokens), query_token, key_token, a, b
            and difference; NaN where a side lacks a token.
        """
        frames = []
        for kind, (one, other) in self.sides().items():
            for layer, (ours, theirs) in enumerate(zip(one.layers, other.layers, strict=True)):
                head, query, key = (axis.ravel() for axis in np.indices(ours.weights.shape))
                columns = {"kind": kind, "layer": layer, "head": head, "query": query, "key": key}
                columns["query_token"] = np.array(one.query_tokens, dtype=object)[query]
                columns["key_token"] = np.array(one.key_tokens, dtype=object)[key]
                columns |= {"a": ours.weights.ravel(), "b": theirs.weights.ravel()}
                frames.append(pd.DataFrame(columns))
        frame = pd.concat(frames, ignore_index=True)
        return frame.assign(difference=frame.b - frame.a)

    def _rows_of(self, target):
        return self.target_rows if target and self.a.encoder else self.rows

    def _tokens_of(self, target):
        return self.target_tokens if target and self.a.encoder else self.tokens

    def _sides_of(self, kind):
        """Return whether the queries, and whether the keys of a kind of attention are the target's."""
        return kind != "encoder", kind == "decoder"

    def _axes(self, name):
        """Return axis -> aligned rows of a tensor, by its name in `flatten`."""
        parts = name.split(".")
        if len(parts) == 1:
            if name in ("pooled", "score_cap") or (name == "logits" and self.a.logits.ndim == 1):
                return {}
            is_target = name in TARGET_SIDE or (name in ("final", "logits") and bool(self.a.decoder))
            return {0: self._rows_of(is_target)}
        own = self._rows_of(parts[0] == "decoder")
        if "attention" not in parts[2] or len(parts) == 3:
            return {0: own}
        keys = self.rows if parts[2] == "cross_attention" else own
        return {
            "scores": {1: own, 2: keys},
            "weights": {1: own, 2: keys},
            "key": {1: keys},
            "value": {1: keys},
            "output": {0: own},
        }.get(parts[-1], {1: own})


def compare(a: Trace, b: Trace, *, orders: tuple[Order, Order] = (None, None)) -> Comparison:
    """Return two traces with aligned tokens, and their difference B - A.

    Equal tokens are aligned (Ratcliff and Metzener's matching blocks, as in `difflib`); between them, as many
    tokens as were replaced are aligned in their order, and all others have no counterpart.

    Args:
        a: The trace before.
        b: The trace after: of another text, with changes, or of another model.
        orders: The change `order` of each trace whose text was read in another order, so that its tokens
            are put back; None: as typed.
    """
    return Comparison(a, b, align(a.tokens, b.tokens, orders=orders), align(a.target_tokens, b.target_tokens))


def align(
    a: Sequence[str],
    b: Sequence[str],
    *,
    orders: tuple[Order, Order] = (None, None),
) -> np.ndarray:
    """Return the aligned tokens of two texts: int (row, 2), positions in `a` and in `b`, -1 for none.

    Arguments as for `compare`.
    """
    places: list[list[int]] = [
        np.argsort(permutation_of(order, tokens)).tolist()
        for tokens, order in zip((a, b), orders, strict=True)
    ]
    ours, theirs = ([tokens[i] for i in place] for tokens, place in zip((a, b), places, strict=True))
    rows = []
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    for _, first, last, begin, end in matcher.get_opcodes():
        if last - first == end - begin:
            rows += zip(places[0][first:last], places[1][begin:end], strict=True)
        else:
            rows += [(place, MISSING) for place in places[0][first:last]]
            rows += [(MISSING, place) for place in places[1][begin:end]]
    return np.array(rows, int).reshape(-1, 2)


def merged(rows: np.ndarray, ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Return names of aligned rows from those of A's and of B's tokens: "good → bad" where they differ."""
    places: list[tuple[int, int]] = rows.tolist()
    return tuple(_pair(ours[i] if i >= 0 else None, theirs[j] if j >= 0 else None) for i, j in places)


def _pair(one: str | None, other: str | None) -> str:
    if one is None or other is None or one == other:
        return (one if other is None else other) or ""
    return f"{one}{CHANGED}{other}"


def _heads(kinds):
    return {kind: [len(layer.weights) for layer in found.layers] for kind, found in kinds.items()}


def _taken(array, rows, axis):
    """Return an array with the given rows along an axis, NaN (of a mask False) where they are missing."""
    taken = np.take(array, np.maximum(rows, 0), axis=axis)
    if (rows >= 0).all():
        return taken
    missing = (rows < 0).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return np.where(missing, False if array.dtype == bool else np.float32(np.nan), taken)


def _difference(one, other, axes):
    """Return other - one in float32, aligned along some axes: axis -> aligned rows."""
    for axis, rows in axes.items():
        if one.shape[axis] == other.shape[axis] == 1 < len(rows):  # the same for all positions
            continue
        one, other = _taken(one, rows[:, 0], axis), _taken(other, rows[:, 1], axis)
    return (other - one).astype(np.float32)


def _aligned(found, queries, keys, tokens):
    """Return the weights, scores and mask of one side with aligned tokens."""
    layers = []
    for layer in found.layers:
        parts = {
            name: None if array is None else _taken(_taken(array, queries, 1), keys, 2)
            for name, array in (("weights", layer.weights), ("scores", layer.scores))
        }
        layers.append(layer._replace(**dict.fromkeys(layer._fields) | parts))
    mask = np.broadcast_to(found.mask, (*found.mask.shape[:2], *found.layers[0].weights.shape[1:]))
    return Attentions(layers, _taken(_taken(mask, queries, 2), keys, 3), *tokens)


def _moved(one, other):
    before, after = (np.stack([layer.weights for layer in side.layers]) for side in (one, other))
    absent = np.isnan(before).all(axis=-1) | np.isnan(after).all(axis=-1)
    both = np.logical_not(absent)[0, 0]
    if not both.any():
        return np.zeros(before.shape[:2], np.float32)
    change = np.abs(np.nan_to_num(after) - np.nan_to_num(before))[:, :, both]
    return change.sum(axis=-1).mean(axis=-1) / 2


def _log_odds(probs, label):
    """Return log(p / (1 - p)), the sum of the others for 1 - p, which rounding would spoil."""
    others = np.delete(probs.astype(np.float64), label).sum()
    tiny = np.finfo(np.float32).tiny
    return float(np.log(max(probs[label], tiny)) - np.log(max(others, tiny)))
