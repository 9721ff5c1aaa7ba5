"""Rename, duplicate, delete and restore models; each is done whole or not at all, also when killed."""

import os
from dataclasses import dataclass
from pathlib import Path

from transformer_viz.store.atomic import move_into_place, write_files
from transformer_viz.store.card import card_text
from transformer_viz.store.format import (
    DESKTOP,
    LARGEST,
    ModelError,
    checked_name,
    disk_errors,
    existing_folder,
    hidden_model,
    json_object,
    name_list,
    old_folder,
)
from transformer_viz.store.hidden import discard, empty_trash, sweep, trash_beside
from transformer_viz.store.places import folder_of_models, is_shipped
from transformer_viz.store.quota import QuotaLike
from transformer_viz.store.read import read_files
from transformer_viz.store.write import check_target, with_manifest


@dataclass(frozen=True)
class Deleted:
    """A model that was deleted: its name, and the hidden folder in which it waits to be restored."""

    name: str
    path: Path


def rename_model(name: str, new_name: str, folder: Path | None = None) -> None:
    """Give a model another name; its folder stays as it is.

    Args:
        name: Of the model.
        new_name: One that no other model has.
        folder: Where the model is; None: `models_folder()`.

    Raises:
        ModelError: If there is no such model, it came with an installed package, the new name is unfit or
            taken, or the disk refuses.
    """
    place = _place(name, folder)
    _move(place, check_target(new_name, folder=folder))


def duplicate_model(
    name: str,
    new_name: str,
    folder: Path | None = None,
    *,
    into: Path | None = None,
    quota: QuotaLike = None,
) -> None:
    """Write an exact copy of a model, whose files are checked meanwhile.

    Args:
        name: Of the model.
        new_name: One that no other model has.
        folder: Where the model is; None: `models_folder()`.
        into: Folder of models for the copy; None: the same, or for a shipped model `models_folder()`.
        quota: As in `write_model`.

    Raises:
        ModelError: If the model is damaged, the new name is unfit or taken, or the disk refuses.
    """
    target = check_target(new_name, folder=into or (None if is_shipped(folder_of_models(folder)) else folder))
    files = read_files(checked_name(name), folder)
    sweep(target.parent)
    write_files(target, files, quota)


def shorten_card(name: str, folder: Path | None = None) -> None:
    """Write the card of a model anew, without details if it is too long; arguments as in `delete_model`.

    Raises:
        ModelError: If there is no such model, it is damaged, its card stays too long, or the disk refuses.
    """
    target = _target(name, folder)
    files = read_files(name, folder)
    del files["manifest.json"]
    card = json_object(target / "card.json", files["card.json"].decode("utf-8", "replace"))
    files["card.json"] = card_text(target / "card.json", card).encode()
    write_files(target, with_manifest(files))


def delete_model(name: str, folder: Path | None = None) -> Deleted:
    """Move a model, also a damaged one, into the trash beside it, for a day at least.

    Args:
        name: Of the model.
        folder: Where the model is; None: `models_folder()`.

    Returns:
        What `restore_model` takes back.

    Raises:
        ModelError: If there is no such model, it came with an installed package, its folder holds
            something else too, or the disk refuses.
    """
    place = _place(name, folder)
    with disk_errors(place, "read"):
        strange = set(os.listdir(place)) - LARGEST.keys() - DESKTOP
    if strange:
        raise ModelError("store.not_deleted", place=place, names=name_list(strange))
    empty_trash(folder)
    trash = trash_beside(place.parent / name)
    _move(place, trash)
    return Deleted(name, trash)


def restore_model(deleted: Deleted) -> None:
    """Put a deleted model back exactly as it was.

    Raises:
        ModelError: If another model has its name by now, the trash was emptied, or the disk refuses.
    """
    target = deleted.path.parent / checked_name(deleted.name)
    if existing_folder(target) or os.path.lexists(target):
        raise ModelError("store.restored_taken", place=target)
    if not os.path.isdir(deleted.path):
        raise ModelError("store.restored_gone", place=target)
    _move(deleted.path, target)


def _target(name, folder):
    """Return where a model of that name stands, which may be changed."""
    target = folder_of_models(folder) / checked_name(name)
    if is_shipped(target.parent) or (hidden_model(target) and not existing_folder(target)):
        raise ModelError("store.shipped", name=name)
    return target


def _place(name, folder):
    """Return where the one model of that name stands, having removed what an interrupted write left of it."""
    target = _target(name, folder)
    place = existing_folder(target)
    if place is None:
        raise ModelError("store.gone", place=target)
    if os.path.islink(target):
        raise ModelError("store.linked", place=target)
    with disk_errors(target, "written"):
        if place == target and old_folder(target).exists():  # or the older model would come back
            discard(old_folder(target), target)
    return place


def _move(place, target):
    with disk_errors(target, "written"):
        move_into_place(place, target)
