"""Where a folder of the hub came from: the name of its model there, and the revision."""

import json
import re
from pathlib import Path

from transformer_viz.store.format import printable
from transformer_viz.store.hugging_face.files import LARGEST_CONFIG, json_of

ORIGIN = "hub.json"
"""File beside those of a fetched model that says where they came from."""

_CACHED = re.compile(r"models--(.+)/snapshots/([0-9a-f]+)")


def write_origin(folder: Path, name: str, revision: str) -> None:
    """Write into a folder which model of the hub it is, and its revision."""
    text = json.dumps({"name": name, "revision": revision})
    (folder / ORIGIN).write_text(text + "\n", encoding="utf-8")


def origin_of(folder: Path) -> dict[str, str]:
    """Return what a card says of the origin of a folder: its source, and its revision if that is known.

    Folders of the hub's own cache have both in their path.

    Raises:
        ModelError: If the file with its origin is damaged.
    """
    file, name, revision = folder / ORIGIN, *_cached(folder)
    if file.is_file():
        said = json_of(file, LARGEST_CONFIG)
        name, revision = (printable(said.get(key) or "") for key in ("name", "revision"))
    known = {"source": f"Hugging Face: {name}" if name else "Hugging Face", "revision": revision}
    return {key: text for key, text in known.items() if text}


def name_of_origin(folder: Path) -> str:
    """Return the name on the hub of a model in the hub's own cache; "" of any other folder."""
    return _cached(folder)[0]


def _cached(folder):
    """Return the name and the revision that the path of a folder in the hub's own cache has."""
    found = _CACHED.search(folder.resolve().as_posix())
    return (found[1].replace("--", "/"), found[2]) if found else ("", "")
