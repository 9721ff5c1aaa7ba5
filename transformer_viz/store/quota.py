"""How many bytes all models of a folder may take together, deleted ones too until they are removed."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from transformer_viz.language import Phrase
from transformer_viz.store.format import ModelError, name_list
from transformer_viz.store.hidden import empty_trash
from transformer_viz.store.places import folder_of_models, models_folder

DEFAULT = 4_000_000_000
"""Bytes of `models_folder()`, unless TRANSFORMER_VIZ_MODELS_BYTES says otherwise."""

_OWN = (".tmp-", ".old-", ".trash-")


class SharedQuota(NamedTuple):
    """What the models of one of several owners may take, and those of all of them.

    Attributes:
        own: Bytes of the owner's folder of models.
        together: Bytes of everything in `place`.
        place: Holds a folder for each owner, and that one the owner's folder of models.
    """

    own: int
    together: int
    place: Path


QuotaLike = int | SharedQuota | None
"""What the models of a folder may take: so many bytes, or as `quota_of` says."""


class QuotaError(ModelError):
    """There is no room for a model.

    Attributes:
        used: Bytes that are taken.
        limit: Bytes that may be.
        trash: Bytes of deleted models, which `empty_trash` gives back.
        is_shared: Whether it is the room of all owners that is full.
    """

    def __init__(self, code, used, limit, *, trash=0, is_shared=False, **facts):
        super().__init__(code, taken=_written(used), most=_written(limit), **facts)
        self.used, self.limit, self.trash, self.is_shared = used, limit, trash, is_shared


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


def usage(folder: Path | None = None, quota: QuotaLike = None) -> Usage:
    """Return what a folder of models takes; `quota` as in `quota_of`."""
    folder = folder_of_models(folder)
    found = sizes(folder)
    return Usage(sum(found.values()), _trash(found), quota_of(folder, quota))


def quota_of(folder: Path, quota: QuotaLike = None) -> int | None:
    """Return how many bytes a folder of models may take; None: as many as there are.

    Args:
        folder: Of models.
        quota: What it may take; a `SharedQuota`: its `own`; None: `models_folder()` as the environment says,
            any other folder all it wants.

    Raises:
        ModelError: If the environment says something else than a number.
    """
    if isinstance(quota, SharedQuota):
        return quota.own
    if quota is not None or os.path.realpath(folder) != os.path.realpath(models_folder()):
        return quota
    given = os.environ.get("TRANSFORMER_VIZ_MODELS_BYTES") or str(DEFAULT)
    if not given.isdecimal():
        raise ModelError("quota.variable", example=DEFAULT, received=repr(given))
    return int(given)


def sizes(folder: Path) -> dict[str, int]:
    """Return name -> bytes of every folder in a folder of models, those that are hidden by the store too."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".") or name.startswith(_OWN)]
    except OSError:
        return {}
    return {name: _size(folder / name) for name in names if os.path.isdir(folder / name)}


def check_quota(target: Path, needed: int, quota: QuotaLike = None, *, without: Path | None = None) -> None:
    """Check that there is room for a model, after removing models deleted more than a day ago.

    Args:
        target: Where it is to stand; what it replaces there does not count.
        needed: Its bytes.
        quota: As in `quota_of`; of a `SharedQuota`, both limits are kept.
        without: A folder that does not count either: where the model is now.

    Raises:
        QuotaError: If it would be too much; says how much is used and what to delete.
    """
    most = quota_of(target.parent, quota)
    if most is None:
        return
    empty_trash(target.parent)
    replaced = (target.name, f".old-{target.name}", *([without.name] if without else []))
    found = sizes(target.parent)
    again = sum(found.pop(name, 0) for name in replaced)
    used, trash = sum(found.values()), _trash(found)
    if used + needed > most:
        facts = {"needed": _written(needed), "place": target.parent, "advice": _advice(found, trash)}
        raise QuotaError("quota.full", used, most, trash=trash, **facts)
    if isinstance(quota, SharedQuota):
        _check_together(quota, needed - again, target.parent.name, trash)


def _check_together(quota, more, name, trash):
    """Check that all owners together may take so many bytes more; `name`: of each one's folder of models."""
    used = _size(quota.place)
    if used + more > quota.together:
        with contextlib.suppress(OSError):
            for owner in list(quota.place.iterdir()):
                empty_trash(owner / name)
        used = _size(quota.place)
    if used + more > quota.together:
        facts = {"trash": trash, "is_shared": True, "place": quota.place}
        raise QuotaError("quota.together", used, quota.together, **facts)


def _advice(found, trash):
    models = sorted((name for name in found if not name.startswith(".")), key=lambda name: -found[name])[:3]
    largest = ", ".join(f"{name_list([name])} ({_written(found[name])})" for name in models)
    if not trash:
        return Phrase("quota.largest", largest=largest) if largest else Phrase("quota.smaller")
    if largest:
        return Phrase("quota.largest_and_trash", largest=largest, trash=_written(trash))
    return Phrase("quota.trash", trash=_written(trash))


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
