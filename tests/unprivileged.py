"""A folder that cannot be written, also where the tests run as root."""

import contextlib
import ctypes
import os
import shutil
import tempfile
from pathlib import Path

VERSION = 0x20080522
"""Version of the structures that `capget` and `capset` take (linux/capability.h)."""

OVERRIDE = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: with these, file modes do not stop root."""


@contextlib.contextmanager
def read_only_folder(fill=lambda folder: None):
    """Give a folder in which nothing can be written as long as the block lasts.

    Args:
        fill: Called with the folder while it can still be written.
    """
    folder = Path(tempfile.mkdtemp())
    fill(folder)
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        with modes_count():
            yield folder
    finally:
        for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            place.chmod(0o755)
        shutil.rmtree(folder)


@contextlib.contextmanager
def modes_count():
    """Make file modes apply to this thread and those it starts, even as root (Linux)."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(VERSION, 0)  # of this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same of further ones
    assert libc.capget(header, sets) == 0, os.strerror(ctypes.get_errno())
    before = sets[0]
    sets[0] = before & ~OVERRIDE
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        sets[0] = before
        assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
