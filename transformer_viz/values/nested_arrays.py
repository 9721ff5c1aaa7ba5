"""Arrays within lists, tuples and dicts, taken apart into JSON and plain arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_viz.language import Problem


def taken_apart(nested: Any) -> tuple[Any, list[np.ndarray]]:
    """Return the structure of nested arrays as JSON values, and its arrays in order.

    Args:
        nested: Arrays of NumPy, TensorFlow, JAX or PyTorch, of numbers, truth values or texts; numbers, texts
            and None; and lists, tuples and dicts of them, with texts as keys.

    Raises:
        ValueError: If it is or holds anything else.

    >>> taken_apart({"ids": np.array([3]), "more": (1, None)})
    ({'dict': {'ids': {'array': 0}, 'more': {'tuple': [{'plain': 1}, {'plain': None}]}}}, [array([3])])
    """
    arrays: list[np.ndarray] = []

    def apart(each):
        if isinstance(each, Mapping) and all(isinstance(key, str) for key in each):
            return {"dict": {key: apart(value) for key, value in each.items()}}
        if isinstance(each, list | tuple):
            return {"list" if isinstance(each, list) else "tuple": [apart(value) for value in each]}
        if each is None or type(each) in (bool, int, float, str):
            return {"plain": each}
        arrays.append(_array(each))
        return {"array": len(arrays) - 1}

    return apart(nested), arrays


def put_together(structure: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Return what was taken apart; all its arrays are of NumPy.

    >>> put_together({"tuple": [{"array": 0}, {"plain": 1}]}, [np.array([3])])
    (array([3]), 1)
    """
    [(kind, content)] = structure.items()
    if kind == "array":
        return arrays[content]
    if kind == "plain":
        return content
    if kind == "dict":
        return {key: put_together(each, arrays) for key, each in content.items()}
    each = [put_together(each, arrays) for each in content]
    return each if kind == "list" else tuple(each)


def _array(value):
    """Return an array of NumPy that needs no pickle."""
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        raise _unfit(value) from None
    for kind in (bytes, str):  # texts of TensorFlow
        if array.dtype == object and all(isinstance(each, kind) for each in array.flat):
            array = array.astype(kind)
    if array.dtype.kind not in "biufcSU":
        raise _unfit(value)
    return array


def _unfit(value):
    dtype = getattr(value, "dtype", None)
    kind = "" if dtype is None else f" ({getattr(dtype, 'name', dtype)})"
    return Problem("inputs.kind", received=f"{type(value).__name__}{kind}")
