"""A checkpoint seen from outside, without the library that reads it."""

import json
import os
from pathlib import Path

MOST_HEADER = 100 * 2**20
"""Bytes of the header of a checkpoint; a longer one is damaged."""


def is_damaged(path: Path) -> bool:
    """Return whether there is a checkpoint that was cut or is none, as far as its header and length tell."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little") % MOST_HEADER))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            return file.tell() + max(ends) != os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError, KeyError, TypeError, IndexError, AttributeError):
        return True
