"""Bytes that models and runs take and may take, deleted models included until they are removed."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from transformer_viz.language import Phrase
from transformer_viz.store.folders import empty_trash, old_folder
from transformer_viz.store.format import ModelError, printable
from transformer_viz.store.places import folder_of_models, models_folder

DEFAULT = 4_000_000_000
"""Bytes of `models_folder()`, unless TRANSFORMER_VIZ_MODELS_BYTES sets another limit."""

_OWN = (".tmp-", ".old-", ".trash-")


class Quota(NamedTuple):
    """Limits in bytes of what several owners keep.

    Attributes:
        total: Of all owners together.
        owner: Of one owner.
        place: Of models: holds a folder for each owner, and that one the owner's folder of models. None: of
            runs or uploads, which are in one folder.
    """

    total: int
    owner: int
    place: Path | None = None


QuotaLike = int | Quota | None
"""Quota of a folder of models in bytes, alone or among those of other owners; None: as `quota_of` decides."""


class QuotaError(ModelError):
    """There is no room for a model.

    Attributes:
        used: Bytes in use.
        limit: Bytes allowed.
        trash: Bytes of deleted models, which `empty_trash` frees.
        is_shared: Whether the quota of all owners is full.
    """

    def __init__(
        self, code: str, used: int, limit: int, *, trash: int = 0, is_shared: bool = False, **facts: object
    ):
        super().__init__(code, taken=_written(used), most=_written(limit), **facts)
        self.used, self.limit, self.trash, self.is_shared = used, limit, trash, is_shared


class Usage(NamedTuple):
    """Disk use of a folder of models in bytes.

    Attributes:
        used: Everything.
        trash: Deleted models, included in `used`.
        quota: Limit; None: unlimited.
    """

    used: int
    trash: int
    quota: int | None


def usage(folder: Path | None = None, quota: QuotaLike = None) -> Usage:
    """Return the disk use of a folder of models; `quota` as in `quota_of`."""
    folder = folder_of_models(folder)
    found = sizes(folder)
    return Usage(sum(found.values()), _trash(found), quota_of(folder, quota))


def quota_of(folder: Path, quota: QuotaLike = None) -> int | None:
    """Return the limit of a folder of models in bytes; None: unlimited.

    Args:
        folder: Of models.
        quota: Its quota; of a `Quota`, `owner`; None: for `models_folder()` the environment decides, any
            other folder is unlimited.

    Raises:
        ModelError: If the environment variable is not a number.
    """
    if isinstance(quota, Quota):
        return quota.owner
    if quota is not None or os.path.realpath(folder) != os.path.realpath(models_folder()):
        return quota
    given = os.environ.get("TRANSFORMER_VIZ_MODELS_BYTES") or str(DEFAULT)
    if not given.isdecimal():
        raise ModelError("quota.variable", example=DEFAULT, received=repr(given))
    return int(given)


def sizes(folder: Path) -> dict[str, int]:
    """Return name -> bytes of every folder in a folder of models, including the store's hidden ones."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".") or name.startswith(_OWN)]
    except OSError:
        return {}
    return {name: bytes_in(folder / name) for name in names if os.path.isdir(folder / name)}


def check_quota(target: Path, needed: int, quota: QuotaLike = None, *, without: Path | None = None) -> None:
    """Check that there is room for a model, after removing models deleted more than a day ago.

    Args:
        target: Its path; a model it replaces does not count.
        needed: Its bytes.
        quota: As in `quota_of`; both limits of a `Quota` apply.
        without: A folder that does not count either: the current one of the model.

    Raises:
        QuotaError: If there is not enough room; says how much is used and what to delete.
    """
    most = quota_of(target.parent, quota)
    if most is None:
        return
    empty_trash(target.parent)
    replaced = (target.name, old_folder(target).name, *([without.name] if without else []))
    found = sizes(target.parent)
    again = sum(found.pop(name, 0) for name in replaced)
    used, trash = sum(found.values()), _trash(found)
    if used + needed > most:
        facts = {"needed": _written(needed), "place": target.parent, "advice": _advice(found, trash)}
        raise QuotaError("quota.full", used, most, trash=trash, **facts)
    if isinstance(quota, Quota) and quota.place:
        _check_together(quota.place, quota.total, needed - again, target.parent.name, trash)


def check_space(target: Path, needed: int) -> None:
    """Check that so many bytes are free on the target's disk.

    Raises:
        ModelError: If they are not.
    """
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ModelError("store.space", place=target, needed=needed / 1e6, free=free / 1e6)


def bytes_in(place: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; unreadable ones count 0."""
    size, files = 0, [place]
    if os.path.isdir(place):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    for file in files:
        with contextlib.suppress(OSError):
            size += os.lstat(file).st_size
    return size


def _check_together(place, most, more, name, trash):
    """Check the bytes of all owners together for so many more; `name`: of each one's folder of models."""
    used = bytes_in(place)
    if used + more > most:
        with contextlib.suppress(OSError):
            for owner in list(place.iterdir()):
                empty_trash(owner / name)
        used = bytes_in(place)
    if used + more > most:
        facts = {"trash": trash, "is_shared": True, "place": place}
        raise QuotaError("quota.together", used, most, **facts)


def _advice(found, trash):
    models = sorted((name for name in found if not name.startswith(".")), key=lambda name: -found[name])[:3]
    largest = [f"{printable(repr(name))} ({_written(found[name])})" for name in models]
    if not trash:
        return Phrase("quota.largest", largest=largest) if largest else Phrase("quota.smaller")
    if largest:
        return Phrase("quota.largest_and_trash", largest=largest, trash=_written(trash))
    return Phrase("quota.trash", trash=_written(trash))


def _trash(found):
    return sum(size for name, size in found.items() if name.startswith(".trash-"))


def _written(size):
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
