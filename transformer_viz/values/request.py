"""A request: one text for one model, and everything that is changed while the model reads it."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

TRACE, EFFECTS = "trace", "effects"
"""What a request can ask for: the whole forward pass, or what each head contributes to the answer."""


def _frozen(value: Any) -> Any:
    """Return lists as tuples and dicts as tuples of their items, however deep."""
    if isinstance(value, Mapping):
        value = value.items()
    elif type(value) not in (list, tuple):
        return value
    return tuple(map(_frozen, value))


@dataclass(frozen=True)
class Changes:
    """All changes to a model's own computation; by default there are none.

    Heads are written (layer, head), edges (layer, head, query, key), counted from 0, in the self-attention of
    the first stack; with "encoder", "decoder" or "cross" in front, in that attention. Lists become tuples,
    and a dict the tuple of its items. Changes are hashable unless they hold an array or an activation patch.

    Attributes:
        ablate: Heads whose context is removed.
        reference: Texts, for an encoder-decoder (text, target) pairs: a removed context becomes the head's
            mean over all their tokens; none: zero.
        cut: Edges removed before the softmax: their weight is shared out among the remaining keys.
        mute: Edges removed after the softmax: the other weights stay as they are.
        patterns: (head, pattern) pairs: the head's weights become "uniform", "previous", or float (query,
            key).
        patches: `ActivationPatch`es: activations of another run in place of this one's.
        attention_mask: In place of the model's own in the stack that reads the text: a name
            (`analysis.named_mask`), or bool, True = may attend, broadcastable to (head, query, key).
        target_attention_mask: The same in the stack that reads the target.
        cross_attention_mask: The same in the decoder's attention to the encoder.
        positions: In place of the model's own position table: a kind ("none", "sinusoidal", ...), or float
            (any, d_model).
        position_ids: int (position,): rows of the table for the tokens of the text.
        order: Index of each token of the text once: the order in which they are read instead.
        padding: Number of [PAD] after the tokens of the text, as in a batch with a longer text.
        target_padding: The same for the target.
    """

    ablate: tuple = ()
    reference: tuple = ()
    cut: tuple = ()
    mute: tuple = ()
    patterns: tuple = ()
    patches: tuple = ()
    attention_mask: str | tuple | np.ndarray | None = None
    target_attention_mask: str | tuple | np.ndarray | None = None
    cross_attention_mask: str | tuple | np.ndarray | None = None
    positions: str | tuple | np.ndarray | None = None
    position_ids: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    padding: int = 0
    target_padding: int = 0

    def __post_init__(self):
        for name in ("ablate", "reference", "cut", "mute", "patches"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))

    @property
    def reading(self) -> dict:
        """The changes that hold while a target is written too: `positions` and `order`."""
        return {"positions": self.positions, "order": self.order}

    def to_dict(self) -> dict:
        """Return name -> value of everything that is changed, ready for JSON.

        Raises:
            ValueError: If an activation of another run is among it.
        """
        if self.patches:
            raise ValueError("An activation of another run cannot be written as JSON. Leave out `patches`.")
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            name: _plain(value)
            for name, value in values.items()
            if isinstance(value, np.ndarray) or value != getattr(UNCHANGED, name)
        }


UNCHANGED = Changes()


@dataclass(frozen=True)
class Request:
    """One request to a model; the key of every cache.

    Attributes:
        model: Name or folder of the model.
        text: The text as typed, or its token ids.
        target: For an encoder-decoder, the target as typed, or its token ids; None: what the model itself
            writes under these changes of positions and order.
        changes: What is changed in the model's computation.
        wants: `TRACE` or `EFFECTS`.
    """

    model: str
    text: str | tuple[int, ...]
    target: str | tuple[int, ...] | None = None
    changes: Changes = UNCHANGED
    wants: str = TRACE

    @classmethod
    def of(
        cls,
        model: str,
        text: str | Sequence[int],
        target: str | Sequence[int] | None = None,
        **changes: Any,
    ) -> Self:
        """Return a request for a trace, its changes named one by one."""
        return cls(model, _frozen(text), _frozen(target), Changes(**changes))

    def changed(self, **changes: Any) -> Self:
        """Return the request with further changes."""
        return dataclasses.replace(self, changes=dataclasses.replace(self.changes, **changes))

    def to_json(self) -> str:
        """Return the request as JSON, without anything that is as it is by default.

        Raises:
            ValueError: If an activation of another run is among the changes.
        """
        values = {"model": self.model, "text": _plain(self.text), "target": _plain(self.target)}
        values |= {"changes": self.changes.to_dict(), "wants": self.wants}
        default = {"target": None, "changes": {}, "wants": TRACE}
        kept = {name: value for name, value in values.items() if value != default.get(name, value is None)}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError: If it is no request.
        """
        try:
            values = json.loads(text)
            changes = Changes(**values.pop("changes", {}))
            return cls(**{name: _frozen(value) for name, value in values.items()}, changes=changes)
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ValueError(f"This is no request to a model ({error}).") from None


def _plain(value):
    """Return arrays as lists, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
