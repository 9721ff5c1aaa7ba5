"""Data files that visitors upload: each in a folder of its own beside the runs, whole and unmistakable."""

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from transformer_viz.runs.disk import new_folder, write_new
from transformer_viz.runs.errors import writing
from transformer_viz.runs.listing import runs_folder

LONGEST_NAME = 24
"""Letters of a file's name that are kept, and of its ending."""

FACTS = ".upload.json"
"""Beside each file, what is known of it."""


@dataclass(frozen=True)
class Upload:
    """A file that was uploaded and kept.

    Attributes:
        path: Where it is, under a name made of its own.
        sha256: Of its content, in hexadecimal.
        size: Bytes of its content.
    """

    path: Path
    sha256: str
    size: int


def keep_upload(data: bytes, name: str, *, folder=None) -> Upload:
    """Write an upload beside the runs, and flush it.

    Args:
        data: Its content.
        name: What the visitor calls the file; nothing of it but letters, digits and dots is kept.
        folder: Folder of runs; None: `runs_folder()`.

    Raises:
        RunError: If it cannot be written; nothing is left then.
    """
    home = uploads_folder(folder)
    target = home / secrets.token_hex(16)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        with new_folder(target) as temporary:
            write_new(temporary / _file_name(name), data)
            write_new(temporary / FACTS, json.dumps(facts).encode())
    return Upload(target / _file_name(name), **facts)


def uploads_folder(folder=None) -> Path:
    """Return the folder of uploads in a folder of runs; None: `runs_folder()`."""
    return Path(folder or runs_folder()) / "uploads"


def _file_name(name):
    """Return a name that any system can have and that is no path: "my-reviews.csv"."""
    stem, _, ending = re.split(r"[/\\]", name)[-1].lower().partition(".")
    stem = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:LONGEST_NAME].strip("-")
    ending = re.sub(r"[^a-z0-9.]+", "", ending)[:LONGEST_NAME].strip(".")
    return f"{stem or 'data'}.{ending or 'txt'}"
