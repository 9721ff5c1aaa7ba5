"""What a command writes: its result, in words or as JSON, and beside it remarks and progress."""

import contextlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from transformer_viz.cli.language import known, t
from transformer_viz.cli.width import padded, width


class Wanted(NamedTuple):
    """What is wanted of a command.

    Attributes:
        as_json: Its result as one JSON document, and nothing else on standard output.
        quiet: Neither remarks nor progress.
    """

    as_json: bool = False
    quiet: bool = False


EVERYTHING = Wanted()

_wanted: ContextVar[Wanted] = ContextVar("wanted", default=EVERYTHING)


@contextlib.contextmanager
def writing(wanted: Wanted) -> Iterator[None]:
    """Write what is wanted."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def is_quiet() -> bool:
    """Return whether neither remarks nor progress are wanted."""
    return _wanted.get().quiet


def say(text: str) -> None:
    """Write a part of the result, unless JSON is wanted."""
    if not _wanted.get().as_json:
        print(text)


def give(facts: object) -> None:
    """Write the whole result as JSON, if that is wanted; what is no number there is null."""
    if _wanted.get().as_json:
        print(json.dumps(plain(facts), ensure_ascii=False, indent=2, allow_nan=False))


def remark(text: str) -> None:
    """Write what is not the result, above a progress bar; beside JSON to standard error."""
    if not is_quiet():
        stream = sys.stderr if _wanted.get().as_json else sys.stdout
        tqdm.write(text, file=stream)
        stream.flush()


def progress(rows: Iterable[Any] | None = None, *, unit: str, **settings: Any) -> tqdm:
    """Return a progress bar on a terminal; its unit is the name of a sentence."""
    hidden = is_quiet() or not sys.stderr.isatty()
    return tqdm(rows, unit=t(f"cli.unit.{unit}"), disable=hidden, **settings)


def plain(value: Any) -> Any:
    """Return a value as JSON values; a named tuple becomes an object.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    if hasattr(value, "item"):  # of NumPy
        value = value.item()
    is_missing = value is pd.NA or (isinstance(value, float) and not math.isfinite(value))
    return None if is_missing else value


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame with translated heads and kinds of attention."""
    if "kind" in frame:
        frame = frame.assign(kind=[known(f"cli.kind.{kind}", kind) for kind in frame["kind"]])
    return frame.rename(columns=lambda name: known(f"cli.column.{name}", name))


def table(frame: pd.DataFrame, **settings: Any) -> str:
    """Return a data frame as text whose columns align as it looks; settings are of `DataFrame.to_string`."""
    with pd.option_context("display.unicode.east_asian_width", True):
        return frame.to_string(**settings)


def aligned(figures: Iterable[tuple[str, str]]) -> str:
    """Return a line for each (name, value); values align behind names that are equally indented.

    >>> print(aligned([("rows", "12"), ("token accuracy", "0.5")]))
    rows            12
    token accuracy  0.5
    """
    figures, widest = [*figures], {}
    for name, _ in figures:
        widest[_indent(name)] = max(width(name), widest.get(_indent(name), 0))
    return "\n".join(f"{padded(name, widest[_indent(name)])}  {value}" for name, value in figures)


def _indent(name):
    return len(name) - len(name.lstrip())
