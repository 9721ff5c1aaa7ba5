"""Texts of files in a Hugging Face folder, none of which may be larger than any real one."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from transformer_viz.language import Problem
from transformer_viz.store.format import ModelError, disk_errors, json_object, sentence_of

LARGEST_CONFIG = 2**20
"""Bytes of config.json and generation_config.json."""

LARGEST_INDEX = 2**25
"""Bytes of the index of several files of weights, and of the header of one."""

LARGEST_TOKENIZER = 2**26
"""Bytes of a file of a tokenizer."""


def text_of(file: Path, most: int) -> str:
    """Return the text of a file of at most that many bytes.

    Raises:
        ModelError: If it is larger, or cannot be read.
    """
    with disk_errors(file, "read"):
        return _checked_size(file, most).read_text(encoding="utf-8", errors="replace")


def bytes_of(file: Path, most: int) -> bytes:
    """Return the content of such a file; errors as of `text_of`."""
    with disk_errors(file, "read"):
        return _checked_size(file, most).read_bytes()


def json_of(file: Path, most: int) -> dict:
    """Return the JSON object in such a file; errors as of `text_of`, or if it holds none."""
    return json_object(file, text_of(file, most))


@contextlib.contextmanager
def problems_of(file: Path) -> Iterator[None]:
    """Raise what is wrong with a file as a `ModelError` that names it."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        if isinstance(error, Problem) and error.code.startswith("hugging."):
            raise ModelError(error.code, file=file, **error.facts) from None
        raise ModelError("store.unusable", file=file, reason=sentence_of(error)) from None


def _checked_size(file, most):
    if (size := file.stat().st_size) > most:
        raise ModelError("store.size", file=file, size=size, most=most)
    return file
