"""The extras of this package, and the error that names the one to install.

The core shows attention; extras bring the libraries of all else.
"""

import contextlib
from collections.abc import Iterator

from transformer_viz.language import Problem

MODELS, APP = "models", "app"
"""Extras: models of Keras and what reads, trains and asks them; the app, with its models."""


class MissingExtraError(Problem, ImportError):
    """A library is not installed that an extra brings."""


@contextlib.contextmanager
def needs(extra: str, name: str) -> Iterator[None]:
    """Name the extra that brings a library, should an import of it fail.

    Args:
        extra: The extra.
        name: What needs it, as one writes it.

    Raises:
        MissingExtraError: If a library is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in ("", "transformer_viz"):
            raise
        raise MissingExtraError("packages.missing", name=name, library=library, extra=extra) from None
