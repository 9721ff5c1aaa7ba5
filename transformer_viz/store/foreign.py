"""Files of models that other programs saved: each is told by its first bytes, and refused with a way out."""

import contextlib
import json
import os
import zipfile
from collections.abc import Collection
from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors
from transformer_viz.store.places import shelves
from transformer_viz.trace.zips import DAMAGED, may_exceed

MOST_FILES = 10_000
"""Most files in a zip that are listed."""

MOST_REFUSED = 20
"""Most files beside the models that are explained."""

KIND_OF_SUFFIX = {".keras": "keras", ".h5": "hdf", ".hdf5": "hdf"} | dict.fromkeys(
    (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".ckpt"), "pickle"
)
"""Ending of a file's name -> kind, where the first bytes do not tell."""

_KERAS_NAMES = {"config.json", "metadata.json"}
_HDF, _PICKLE = b"\x89HDF", tuple(bytes([128, protocol]) for protocol in range(2, 6))


def kind_of_start(begin: bytes) -> str | None:
    """Return "hdf" or "pickle" for the first bytes of such a file, else None."""
    return "hdf" if begin.startswith(_HDF) else "pickle" if begin.startswith(_PICKLE) else None


def kind_of_zip(names: Collection[str]) -> str | None:
    """Return the kind of a zip with these files: "keras", "pickle" as PyTorch writes it, else None."""
    if _KERAS_NAMES.issubset(names):
        return "keras"
    return "pickle" if any(name.split("/")[-1] == "data.pkl" for name in names) else None


def kind_of_file(file: Path) -> str | None:
    """Return "keras", "hdf" or "pickle" for a model that another program saved, else None.

    Raises:
        ModelError: If the file cannot be read.
    """
    with disk_errors(file, "read"), file.open("rb") as stream:
        found = kind_of_start(begin := stream.read(4))
        if begin.startswith(b"PK") and not may_exceed(stream, MOST_FILES):  # more would fill the memory
            with contextlib.suppress(*DAMAGED), zipfile.ZipFile(stream) as archive:
                found = kind_of_zip(archive.namelist())
    return found or KIND_OF_SUFFIX.get(file.suffix.lower())


def refuse_file(file: Path) -> None:
    """Refuse a file where the folder of a model is expected, if it is one that another program saved.

    Raises:
        ModelError: If it is, or cannot be read; says what it is and what to do with it.
    """
    if kind := kind_of_file(file):
        path = json.dumps(file.as_posix(), ensure_ascii=False)
        raise ModelError(f"foreign.{kind}", file=file, path=path)


def refused_files(folder: Path | None = None) -> list[ModelError]:
    """Return an error for each file in a folder of models that another program saved, in order of names.

    Args:
        folder: Folder of models; None: the shelf (`shelves`).
    """
    found = []
    for shelf in shelves(folder):
        with contextlib.suppress(OSError):  # one that cannot be listed says so where models are listed
            found += sorted(
                file
                for file in shelf.iterdir()
                if file.suffix.lower() in KIND_OF_SUFFIX and os.path.isfile(file)
            )
    errors = []
    for file in found[:MOST_REFUSED]:
        try:
            refuse_file(file)
        except ModelError as error:
            errors.append(error)
    return errors
