"""Files of models that other programs saved: each is told by its first bytes, and refused with a way out."""

import contextlib
import zipfile
from collections.abc import Collection
from pathlib import Path

from transformer_viz.store.format import ModelError, disk_errors
from transformer_viz.values.zips import DAMAGED, may_exceed

KERAS_NAMES = {"config.json", "metadata.json"}
"""Files in a zip of Keras that describe the model."""

MOST_FILES = 10_000
"""Most files in a zip that are listed."""

KIND_OF_SUFFIX = {".keras": "keras", ".h5": "hdf", ".hdf5": "hdf"} | dict.fromkeys(
    (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".ckpt"), "pickle"
)
"""Ending of a file's name -> kind, where the first bytes do not tell."""

_HDF, _PICKLE = b"\x89HDF", tuple(bytes([128, protocol]) for protocol in range(2, 6))


def kind_of_start(begin: bytes) -> str | None:
    """Return "hdf" or "pickle" for the first bytes of such a file, else None."""
    return "hdf" if begin.startswith(_HDF) else "pickle" if begin.startswith(_PICKLE) else None


def kind_of_zip(names: Collection[str]) -> str | None:
    """Return the kind of a zip with these files: "keras", "pickle" as PyTorch writes it, else None."""
    if KERAS_NAMES.issubset(names):
        return "keras"
    return "pickle" if any(name.split("/")[-1] == "data.pkl" for name in names) else None


def kind_of_file(file: Path) -> str | None:
    """Return "keras", "hdf" or "pickle" for a model that another program saved, else None.

    Raises:
        ModelError: If the file cannot be read.
    """
    with disk_errors(file, "read"), file.open("rb") as stream:
        found = kind_of_start(begin := stream.read(4))
        if begin.startswith(b"PK"):
            if may_exceed(stream, MOST_FILES):  # listing them would fill the memory
                return None
            with contextlib.suppress(*DAMAGED), zipfile.ZipFile(stream) as archive:
                found = kind_of_zip(archive.namelist())
    return found or KIND_OF_SUFFIX.get(file.suffix.lower())


def check_kind(file: Path) -> str | None:
    """Return "keras" or None; HDF5 and pickles are refused.

    Raises:
        ModelError: If it is such a file, or cannot be read.
    """
    kind = kind_of_file(file)
    if kind in ("hdf", "pickle"):
        raise ModelError(f"foreign.{kind}", file=file)
    return kind
