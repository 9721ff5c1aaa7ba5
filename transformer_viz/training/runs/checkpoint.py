"""Integrity check of a checkpoint file without safetensors."""

import json
import os
from pathlib import Path

MOST_HEADER = 100 * 2**20
"""Largest header of a checkpoint in bytes."""


def is_damaged(path: Path) -> bool:
    """Return whether a checkpoint exists but is truncated or invalid, judging by its header and length."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little") % MOST_HEADER))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            return file.tell() + max(ends) != os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError, KeyError, TypeError, IndexError, AttributeError):
        return True
