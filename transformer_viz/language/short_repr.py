"""Values on one line: an array by its type and shape, a long text or list by its ends."""

import reprlib
from collections.abc import Iterable
from typing import Any


class _Short(reprlib.Repr):
    """`repr` without the numbers of arrays, and with few of many items."""

    def __init__(self):
        super().__init__()
        self.maxstring, self.maxother = 60, 120
        self.maxtuple = self.maxlist = 4
        self.maxdict = 4

    def repr1(self, x, level):
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return f"{getattr(x.dtype, 'name', x.dtype)} {tuple(x.shape)}"
        return super().repr1(x, level)

    def repr_tuple(self, x, level):
        return self._counted(x) or super().repr_tuple(x, level)

    def repr_list(self, x, level):
        return self._counted(x) or super().repr_list(x, level)

    def _counted(self, items):
        """Return the number and the type of several values that have fields."""
        kinds = {type(each) for each in items}
        [kind, *others] = kinds or {int}
        has_fields = hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__")
        return f"{len(items)} × {kind.__name__}" if has_fields and not others else ""


_SHORT, _EMPTY = _Short(), {"None", "''", "()", "{}", "[]"}


def short_repr(value: Any, names: Iterable[str] | None = None) -> str:
    """Return a value on one line: its type, and those of its attributes that are not empty.

    Args:
        value: Of any type.
        names: Names of the attributes; None: the fields of a named tuple or a dataclass.

    >>> import numpy as np
    >>> from transformer_viz.network.tensors import Patch
    >>> short_repr(Patch(np.ones((3, 1)), np.zeros((3, 8))))
    'Patch(gate=float64 (3, 1), value=float64 (3, 8))'
    """
    fields: Iterable[str] = getattr(value, "_fields", ()) or getattr(value, "__dataclass_fields__", ())
    chosen = fields if names is None else names
    parts = ((name, _SHORT.repr(getattr(value, name))) for name in chosen)
    shown = ", ".join(f"{name}={text}" for name, text in parts if text not in _EMPTY)
    return f"{type(value).__name__}({shown})"
