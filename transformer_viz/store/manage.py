"""Rename, duplicate, delete and restore models, each atomically."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.store import hugging_face
from transformer_viz.store.card import card_text, fitted
from transformer_viz.store.folders import (
    discard,
    empty_trash,
    existing_folder,
    move,
    old_folder,
    sweep,
    trash_beside,
    write_whole,
)
from transformer_viz.store.format import (
    DESKTOP,
    HEAD_ROLES,
    HUB_CARD,
    LARGEST,
    ModelError,
    check_size,
    checked_name,
    disk_errors,
    hidden_model,
    json_object,
    name_list,
)
from transformer_viz.store.places import folder_of_models, is_shipped
from transformer_viz.store.quota import QuotaLike
from transformer_viz.store.read import config_and_card, read_files
from transformer_viz.store.write import check_target, head_roles_text, with_manifest, write_files


@dataclass(frozen=True)
class Deleted:
    """A deleted model: its name, and the hidden folder from which it can be restored."""

    name: str
    path: Path


def rename_model(name: str, new_name: str, folder: Path | None = None) -> None:
    """Rename a model without changing its folder's content.

    Args:
        name: Of the model.
        new_name: A name that is not taken.
        folder: Folder of models; None: `models_folder()`.

    Raises:
        ModelError: If there is no such model, it came with an installed package, the new name is invalid or
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
    """Copy a model, checking its files.

    Args:
        name: Of the model.
        new_name: A name that is not taken.
        folder: Folder of models; None: `models_folder()`.
        into: Folder of models for the copy; None: the same, or for a shipped model `models_folder()`.
        quota: As in `write_model`.

    Raises:
        ModelError: If the model is damaged, the new name is invalid or taken, or the disk refuses.
    """
    target = check_target(new_name, folder=into or (None if is_shipped(folder_of_models(folder)) else folder))
    files = read_files(checked_name(name), folder)
    sweep(target.parent)
    write_files(target, files, quota)


def write_in_card(name: str, facts: dict[str, Any], folder: Path | None = None) -> None:
    """Save some facts in the card of a model, in place of those of the same names.

    Of a model of the hub, whose card is made of its other files, they are kept in a file of their own.

    Args:
        name: Of the model.
        facts: Values that JSON has, by name.
        folder: Folder of models; None: `models_folder()`.

    Raises:
        ModelError: If there is no such model, it is damaged, came with an installed package, its card becomes
            too long, or the disk refuses.
    """
    target = _target(name, folder)
    if hugging_face.is_hugging_face(target):
        file = target / HUB_CARD
        with disk_errors(file, "written"):
            write_whole(file, card_text(file, facts, whole=True).encode())
        return
    file, files = target / "card.json", read_files(name, folder)
    card = fitted(json_object(file, files["card.json"].decode("utf-8", "replace")))
    write_files(target, _with(files, "card.json", card_text(file, card | facts, whole=True)))


def write_head_roles(
    name: str, head_roles: HeadRoles, folder: Path | None = None, *, quota: QuotaLike = None
) -> Path:
    """Save the usual roles of a model's heads in its folder, replacing earlier ones.

    Args:
        name: Of the model.
        head_roles: As `transformer_viz.head_roles` returns them.
        folder: Folder of models; None: `models_folder()`.
        quota: As in `write_model`.

    Returns:
        The file.

    Raises:
        ModelError: If there is no such model, it is damaged, came with an installed package, has other heads,
            or the disk refuses.
    """
    target = _target(name, folder)
    file = target / HEAD_ROLES
    if hugging_face.is_hugging_face(target):
        config, _ = config_and_card(target)
        with disk_errors(file, "written"):
            write_whole(file, head_roles_text(file, head_roles, config).encode())
        return file
    files = read_files(name, folder)
    config = TransformerConfig.from_json(files["config.json"].decode())
    files = _with(files, HEAD_ROLES, head_roles_text(file, head_roles, config))
    check_size(file, len(files[HEAD_ROLES]))
    write_files(target, files, quota)
    return file


def delete_model(name: str, folder: Path | None = None) -> Deleted:
    """Move a model, damaged or not, into the trash beside it, for at least a day.

    Args:
        name: Of the model.
        folder: Folder of models; None: `models_folder()`.

    Returns:
        The argument of `restore_model`.

    Raises:
        ModelError: If there is no such model, it came with an installed package, its folder holds other
            files, or the disk refuses.
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
    """Restore a deleted model unchanged.

    Raises:
        ModelError: If its name has been taken, the trash was emptied, or the disk refuses.
    """
    target = deleted.path.parent / checked_name(deleted.name)
    if existing_folder(target) or os.path.lexists(target):
        raise ModelError("store.restored_taken", place=target)
    if not os.path.isdir(deleted.path):
        raise ModelError("store.restored_gone", place=target)
    _move(deleted.path, target)


def _target(name, folder):
    """Return the path of a model of that name that may be changed."""
    target = folder_of_models(folder) / checked_name(name)
    if is_shipped(target.parent) or (hidden_model(target) and not existing_folder(target)):
        raise ModelError("store.shipped", name=name)
    return target


def _with(files, name, text):
    """Return the files of a model with another text in one of them."""
    version = json.loads(files.pop("manifest.json"))["format_version"]
    return with_manifest(files | {name: text.encode()}, version)


def _place(name, folder):
    """Return the folder of a model, having removed the rest of an interrupted write."""
    target = _target(name, folder)
    place = existing_folder(target)
    if place is None:
        raise ModelError("store.gone", place=target)
    if os.path.islink(target):
        raise ModelError("store.linked", place=target)
    with disk_errors(target, "written"):
        if place == target and old_folder(target).exists():  # otherwise the older model would reappear
            discard(old_folder(target))
    return place


def _move(place, target):
    with disk_errors(target, "written"):
        move(place, target)
