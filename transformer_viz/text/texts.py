"""Texts and token ids as people give them."""

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from transformer_viz.language import Problem


def each_text(texts: Iterable[Any], *, pairs: bool = False) -> Iterator[Any]:
    """Yield many texts in order; a string is one text, not its letters.

    Args:
        texts: Strings.
        pairs: Whether there may be (text, target) pairs among them, where a target of None is none.

    Raises:
        ValueError: If one of them is anything else, such as a gap of a table; names its row: by the index of
            a Series, else from 0.
    """
    if isinstance(texts, pd.DataFrame):
        raise Problem("texts.table", columns=[*map(str, texts.columns)])
    texts = [texts] if isinstance(texts, str) else texts
    for row, text in texts.items() if isinstance(texts, pd.Series) else enumerate(texts):
        if not (isinstance(text, str) or (pairs and _is_pair(text))):
            raise Problem("texts.none", row=row, received=reprlib.repr(text))
        yield text


def _is_pair(value):
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return isinstance(value[0], str) and (value[1] is None or isinstance(value[1], str))


def text_or_ids(given: Any) -> Any:
    """Return a text as it is, and token ids as a tuple; what is neither is left to whoever reads it.

    Args:
        given: A text; or token ids as a list, or as an array of NumPy, PyTorch, TensorFlow or JAX, which may
            be one row of two axes.

    Raises:
        ValueError: If there are several rows.
    """
    if hasattr(given, "numpy") and not hasattr(given, "tolist"):
        given = given.numpy()
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        return given
    if given and all(isinstance(row, list | tuple) for row in given):
        [given, *others] = given
        if others:
            raise Problem("text.rows", count=len(others) + 1)
    return tuple(given)
