"""Initial values of parameters: random ones, or zeros where they will be read from a file."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_ARE_READ: ContextVar[bool] = ContextVar("are_read", default=False)


@contextlib.contextmanager
def parameters_to_be_read() -> Iterator[None]:
    """Begin with zeros in models made in this block: random numbers of a large model take seconds."""
    token = _ARE_READ.set(True)
    try:
        yield
    finally:
        _ARE_READ.reset(token)


def initial(usual: str) -> str:
    """Return the name of the initial values of a matrix, given the usual ones."""
    return "zeros" if _ARE_READ.get() else usual
