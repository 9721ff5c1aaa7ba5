"""Requests: a text, a model, and the changes to the model's computation."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypedDict, Unpack

import numpy as np

from transformer_viz.language import Problem
from transformer_viz.language.short_repr import short_repr
from transformer_viz.network.signatures import with_fields
from transformer_viz.text.texts import text_or_ids

TRACE, EFFECTS, READING = "trace", "effects", "reading"
"""Kinds of result: the forward pass, the effect of ablating each head, or what the output layer reads."""

OWN = "own"
"""Reference of mean ablation: the tokens of the text itself."""


def _as_tuples(value: Any) -> Any:
    """Return lists as tuples and dicts as tuples of their items, recursively."""
    if isinstance(value, Mapping):
        value = value.items()
    elif type(value) not in (list, tuple):
        return value
    return tuple(map(_as_tuples, value))


EXAMPLES = {
    "ablate": "[(0, 3)]",
    "cut": "[(0, 3, 5, 2)]",
    "mute": "[(0, 3, 5, 2)]",
    "leave_out": "[3]",
    "patches": '[ActivationPatch(trace, "encoder.0.resid_mid")]',
}
"""Field of `Changes` that is a list -> one such list."""


def several(name: str, given: Any) -> tuple:
    """Return several heads, edges or patches as a tuple; one alone stands for itself.

    Args:
        name: Of the field, in `EXAMPLES`.
        given: What is given for it.

    Raises:
        ValueError: If it is neither.

    >>> several("ablate", (0, 3)), several("ablate", [("cross", 0, 3), (1, 2)])
    (((0, 3),), (('cross', 0, 3), (1, 2)))
    """
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if hasattr(given, "site") or (name == "leave_out" and isinstance(given, int)):
        return (given,)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Problem("changes.list", name=name, example=EXAMPLES[name], received=repr(given))
    found = tuple(given)
    is_one = name != "leave_out" and bool(found) and isinstance(found[0], str | int | np.integer)
    return (found,) if is_one else found


@dataclass(frozen=True)
class Changes:
    """All changes to a model's computation, also while it writes; none by default.

    Heads are (layer, head), edges (layer, head, query, key), 0-based, in the self-attention of the first
    stack, or in another kind of attention with "encoder", "decoder" or "cross" in front. One alone
    needs no list. Lists become tuples, and a dict the tuple of its items. Changes are hashable unless they
    contain an array or an activation patch.

    Attributes:
        ablate: Ablated heads.
        reference: Texts, for an encoder-decoder (text, target) pairs: mean ablation replaces a head's context
            by its mean over all their tokens; "own": over the tokens of the text itself, [PAD] left out;
            empty: zero ablation.
        cut: Edges removed before the softmax, which redistributes their weight among the remaining keys.
        mute: Edges removed after the softmax; the other weights do not change.
        leave_out: Tokens of the text, by their index as typed, in whose place one that says nothing stands:
            [MASK] if the vocabulary has it, else [UNK] (leave-one-out, or erasure: Li et al., 2016).
        patterns: (head, pattern) pairs: the head's weights become "uniform", "previous", or float (query,
            key).
        patches: `ActivationPatch`es: activations of another run that replace this run's.
        scaling: Whether scores are divided by √head_dim before the softmax (Vaswani et al., 2017, section
            3.2.1); without it they are not, in any attention.
        residual: Whether each sub-layer's output is added to its input (Vaswani et al., 2017, section 3.1);
            without it, the output alone goes on.
        attention_mask: Replacement of the model's own mask in the self-attention over the text: a name
            (`network.named_masks.named_mask`), or bool, True = may attend, broadcastable to (head, query,
            key).
        target_attention_mask: The same for the self-attention over the target.
        cross_attention_mask: The same for the cross-attention.
        positions: Replacement of the model's own position table: a kind ("none", "sinusoidal", ...), or float
            (any, embedding_dim).
        position_ids: int (position,): rows of the table for the tokens of the text.
        shift: Number of rows left out at the beginning of the table: every token of the text gets the
            position so many places further on. With sinusoids, that rotates each pair of dimensions by the
            same angle everywhere (Vaswani et al., 2017, section 3.5).
        order: Permutation of the text's tokens: their indices in the new order; or a name
            (`trace.order.named_order`): "reversed", "shuffled", "shuffled:7".
        padding: Number of [PAD] after the tokens of the text, as in a batch with a longer text.
        target_padding: The same for the target.
    """

    ablate: tuple = ()
    reference: tuple | str = ()
    cut: tuple = ()
    mute: tuple = ()
    leave_out: tuple[int, ...] = ()
    patterns: tuple = ()
    patches: tuple = ()
    scaling: bool = True
    residual: bool = True
    attention_mask: str | tuple | np.ndarray | None = None
    target_attention_mask: str | tuple | np.ndarray | None = None
    cross_attention_mask: str | tuple | np.ndarray | None = None
    positions: str | tuple | np.ndarray | None = None
    position_ids: tuple[int, ...] | None = None
    shift: int = 0
    order: str | tuple[int, ...] | None = None
    padding: int = 0
    target_padding: int = 0

    def __post_init__(self):
        if isinstance(self.reference, str) and self.reference != OWN:
            raise Problem("changes.reference", own=repr(OWN), received=repr(self.reference))
        if self.reference != OWN:
            object.__setattr__(self, "reference", tuple(self.reference))
        for name in ("scaling", "residual"):
            if not isinstance(getattr(self, name), bool):
                raise Problem("changes.switch", name=name, received=repr(getattr(self, name)))
        if type(self.shift) is not int or self.shift < 0:
            raise Problem("changes.shift", received=repr(self.shift))
        for name in EXAMPLES:
            object.__setattr__(self, name, several(name, getattr(self, name)))
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _as_tuples(getattr(self, field.name)))

    def __repr__(self):
        return short_repr(self, self.changed_fields)

    @property
    def has_interventions(self) -> bool:
        """Whether they change more than order, padding, masks and positions."""
        given = (self.ablate, self.cut, self.mute, self.patterns, self.patches)
        return any(given) or not (self.scaling and self.residual)

    @property
    def changed_fields(self) -> tuple[str, ...]:
        """Names of the fields that are not their defaults."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return tuple(
            name
            for name, value in values.items()
            if isinstance(value, np.ndarray) or value != getattr(UNCHANGED, name)
        )

    def to_dict(self) -> dict:
        """Return name -> value of every field that is not its default, ready for JSON.

        Raises:
            ValueError: If there are activation patches.
        """
        if self.patches:
            raise Problem("changes.patches")
        return {name: _as_lists(getattr(self, name)) for name in self.changed_fields}


UNCHANGED = Changes()


class ChangeArguments(TypedDict, total=False):
    """The attributes of `Changes` as arguments of a function: `**changes: Unpack[ChangeArguments]`."""

    ablate: Sequence
    reference: Sequence | str
    cut: Sequence
    mute: Sequence
    leave_out: Sequence[int] | int
    patterns: Sequence | Mapping
    patches: Sequence
    scaling: bool
    residual: bool
    attention_mask: Any
    target_attention_mask: Any
    cross_attention_mask: Any
    positions: Any
    position_ids: Sequence[int] | np.ndarray | None
    shift: int
    order: str | Sequence[int] | None
    padding: int
    target_padding: int


names_changes = with_fields(Changes)
"""Decorator: shows these arguments in the signature of a function that takes them."""


@dataclass(frozen=True)
class Request:
    """A request to a model; the key of every cache.

    Attributes:
        model: Name or folder of the model.
        text: The text as typed, or its token ids.
        target: For an encoder-decoder, the target as typed, or its token ids; None: generated by the model
            under the same changes.
        changes: Changes to the model's computation.
        wants: `TRACE`, `EFFECTS` or `READING`.
    """

    model: str
    text: str | tuple[int, ...]
    target: str | tuple[int, ...] | None = None
    changes: Changes = UNCHANGED
    wants: str = TRACE

    def __repr__(self):
        return short_repr(self)

    @classmethod
    @names_changes
    def of(
        cls,
        model: str,
        text: str | Sequence[int],
        target: str | Sequence[int] | None = None,
        **changes: Unpack[ChangeArguments],
    ) -> Self:
        """Return a request for a trace; `changes` are attributes of `Changes`."""
        arguments: Any = changes  # lists, which become tuples
        return cls(model, text_or_ids(text), text_or_ids(target), Changes(**arguments))

    @names_changes
    def changed(self, **changes: Unpack[ChangeArguments]) -> Self:
        """Return a copy with further changes."""
        return dataclasses.replace(self, changes=dataclasses.replace(self.changes, **changes))

    def of_model(self, model: str) -> Self:
        """Return the same request to another model."""
        return dataclasses.replace(self, model=model)

    def to_json(self) -> str:
        """Return the request as JSON, without default values.

        Raises:
            ValueError: If there are activation patches.
        """
        values = {"model": self.model, "text": _as_lists(self.text), "target": _as_lists(self.target)}
        values |= {"changes": self.changes.to_dict(), "wants": self.wants}
        default = {"target": None, "changes": {}, "wants": TRACE}
        kept = {name: value for name, value in values.items() if value != default.get(name, value is None)}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the result of `to_json`.

        Raises:
            ValueError: If the text is not a request.
        """
        try:
            values = json.loads(text)
            changes = Changes(**values.pop("changes", {}))
            return cls(**{name: _as_tuples(value) for name, value in values.items()}, changes=changes)
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise Problem("changes.request", reason=str(error)) from None


def _as_lists(value):
    """Return arrays as lists, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_as_lists(each) for each in value] if isinstance(value, tuple) else value
