"""How many bytes all models of a folder may take together, deleted ones too until they are removed."""

import os
from pathlib import Path
from typing import NamedTuple

from transformer_viz.store.format import ModelError, folder_of_models, listed, models_folder

DEFAULT = 4_000_000_000
"""Bytes of `models_folder()`, unless TRANSFORMER_VIZ_MODELS_BYTES says otherwise."""

_OWN = (".tmp-", ".old-", ".trash-")


class QuotaError(ModelError):
    """There is no room for a model.

    Attributes:
        trash: Bytes of deleted models, which `empty_trash` gives back.
    """

    def __init__(self, sentence, trash):
        super().__init__(sentence)
        self.trash = trash


class Usage(NamedTuple):
    """What a folder of models takes, in bytes.

    Attributes:
        used: Everything.
        trash: Deleted models among it.
        quota: What it may take; None: as much as there is.
    """

    used: int
    trash: int
    quota: int | None


def usage(folder: Path | None = None, quota: int | None = None) -> Usage:
    """Return what a folder of models takes; `quota` as in `quota_of`."""
    folder = folder_of_models(folder)
    found = sizes(folder)
    return Usage(sum(found.values()), _trash(found), quota_of(folder, quota))


def quota_of(folder: Path, quota: int | None = None) -> int | None:
    """Return how many bytes a folder of models may take; None: as many as there are.

    Args:
        folder: Of models.
        quota: What it may take; None: `models_folder()` as the environment says, any other folder all it
            wants.

    Raises:
        ModelError: If the environment says something else than a number.
    """
    if quota is not None or os.path.realpath(folder) != os.path.realpath(models_folder()):
        return quota
    given = os.environ.get("TRANSFORMER_VIZ_MODELS_BYTES") or str(DEFAULT)
    if not given.isdecimal():
        raise ModelError(
            f"TRANSFORMER_VIZ_MODELS_BYTES must be a whole number of bytes, such as {DEFAULT}. "
            f"Received: {given!r}."
        )
    return int(given)


def sizes(folder: Path) -> dict[str, int]:
    """Return name -> bytes of every folder in a folder of models, those that are hidden by the store too."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".") or name.startswith(_OWN)]
    except OSError:
        return {}
    return {name: _size(folder / name) for name in names if os.path.isdir(folder / name)}


def check_quota(target: Path, needed: int, quota: int | None = None, *, without: Path | None = None) -> None:
    """Check that a model may be written.

    Args:
        target: Where it is to stand; what it replaces there does not count.
        needed: Its bytes.
        quota: As in `quota_of`.
        without: A folder that does not count either: where the model is now.

    Raises:
        QuotaError: If it would be too much; says how much is used and what to delete.
    """
    most = quota_of(target.parent, quota)
    if most is None:
        return
    found = sizes(target.parent)
    for name in (target.name, f".old-{target.name}", *([without.name] if without else [])):
        found.pop(name, None)
    used = sum(found.values())
    if used + needed <= most:
        return
    trash = _trash(found)
    models = sorted((name for name in found if not name.startswith(".")), key=lambda name: -found[name])[:3]
    largest = ", ".join(f"{listed([name])} ({_written(found[name])})" for name in models) or "none"
    raise QuotaError(
        f"The model needs {_written(needed)}, and those in {target.parent} take {_written(used)} of "
        f"{_written(most)}. Delete some first; the largest: {largest}."
        + (f" Deleted ones take {_written(trash)} until they are removed after a day." if trash else ""),
        trash,
    )


def _trash(found):
    return sum(size for name, size in found.items() if name.startswith(".trash-"))


def _size(folder):
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total


def _written(size):
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
