"""Disks that fail: the n-th call of the system raises, or no file may grow beyond a size."""

import contextlib
import errno
import io
import os

import pytest

CALLS = (
    *("open", "write", "mkdir", "rename", "replace", "fsync", "unlink", "utime", "rmdir", "stat"),
    "listdir",
)
"""Functions of `os` that may fail."""


class Fault:
    """What was called, and whether one of it failed."""

    def __init__(self, place, code):
        self.place, self.code = place, code
        self.calls, self.failed = [], None

    def wrapped(self, name, function):
        """Return a function that fails when its turn comes."""

        def call(*arguments, **settings):
            self.calls.append(name)
            if len(self.calls) == self.place:
                self.failed = name
                raise OSError(self.code, os.strerror(self.code), str(arguments[0]))
            return function(*arguments, **settings)

        return call


@contextlib.contextmanager
def failing(place, code=errno.EIO, calls=CALLS):
    """Let one call of the system fail as long as the block lasts.

    Args:
        place: Which one, counted from 1 over all of them.
        code: What it fails with.
        calls: Names of the functions of `os` that are counted.
    """
    fault = Fault(place, code)
    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            patch.setattr(os, name, fault.wrapped(name, getattr(os, name)))
        if "open" in calls:
            patch.setattr(io, "open", fault.wrapped("open", io.open))  # what a `Path` opens
        yield fault


@contextlib.contextmanager
def no_file_beyond(size):
    """Let no file grow beyond so many bytes, as on a disk that is full (Linux, macOS)."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
