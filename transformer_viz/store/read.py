"""Read model folders consistently while other processes may replace them."""

import dataclasses
import difflib
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open

from transformer_viz.language import Phrase, Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.store import hugging_face
from transformer_viz.store.card import fitted
from transformer_viz.store.eight_bit import SCALE, restore
from transformer_viz.store.folders import existing_folder
from transformer_viz.store.foreign import KIND_OF_SUFFIX, refuse_file
from transformer_viz.store.format import (
    HEAD_ROLES,
    HUB_CARD,
    TARGET,
    ModelError,
    StoredModel,
    check_finite,
    check_shapes,
    check_size,
    check_tokenizers,
    checked_name,
    disk_errors,
    is_path,
    json_object,
    printable,
    reason_of,
)
from transformer_viz.store.limits import check_config
from transformer_viz.store.manifest import check_hash, checked_files
from transformer_viz.store.names import SUCCESSORS, is_name
from transformer_viz.store.places import shelves

Result = TypeVar("Result")

_READS = 20


def read_model(name_or_path: str | Path, folder: Path | None = None) -> StoredModel:
    """Read a model and check everything in its folder.

    If the folder is replaced meanwhile, the result is the old model or the new one, never a mixture.

    Args:
        name_or_path: A name in `folder`; or the path of a model folder: a `Path` that exists, or a text with
            a separator or a leading dot.
        folder: Folder in which names are looked up; None: the shelf (`shelves`).

    Raises:
        ModelError: If there is no such model, or its folder is damaged, invalid or of a newer version.
    """
    path = _path(name_or_path, folder)
    return read_consistent(path, lambda found: _read(found, os.path.basename(os.path.abspath(path))))


def read_config(name_or_path: str | Path, folder: Path | None = None) -> TransformerConfig:
    """Return the config of a model without reading its parameters; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model, or its config or card is damaged or invalid.
    """
    return read_consistent(_path(name_or_path, folder), config_and_card)[0]


def read_tokenizer(name_or_path: str | Path, folder: Path | None = None) -> str:
    """Return the text of a model's `tokenizer.json`; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model, or its tokenizer is damaged.
    """
    return read_consistent(_path(name_or_path, folder), _tokenizer)


def read_head_roles(name_or_path: str | Path, folder: Path | None = None) -> HeadRoles | None:
    """Return what a model's heads usually do, or None if that was not measured; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model, or its config, card or head roles are damaged or invalid.
    """
    return read_consistent(
        _path(name_or_path, folder), lambda place: _head_roles(place, config_and_card(place)[0])
    )


def read_files(name_or_path: str | Path, folder: Path | None = None) -> dict[str, bytes]:
    """Return name -> bytes of a model's files after checking the manifest; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model, or a file is missing, unknown or changed.
    """
    return read_consistent(_path(name_or_path, folder), _files)


def files_to_copy(name_or_path: str | Path) -> Mapping[str, bytes | Path]:
    """Return what a copy of a model consists of: name -> bytes, or path of a file of a folder of the hub.

    Raises:
        ModelError: If there is no such model, or a file is missing, unknown or changed.
    """

    def found_in(folder) -> Mapping[str, bytes | Path]:
        if hugging_face.is_hugging_face(folder):
            return {file.name: file for file in hugging_face.files_of(folder)}
        return _files(folder)

    return read_consistent(_path(name_or_path, None), found_in)


def read_hash(name_or_path: str | Path, folder: Path | None = None) -> str:
    """Return the SHA-256 of a model's parameters in hexadecimal; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model, or a file is missing or unknown.
    """
    return read_consistent(_path(name_or_path, folder), _hash)


def stamp(name_or_path: str | Path, folder: Path | None = None) -> str:
    """Return a text that changes whenever the model is rewritten; arguments as in `read_model`.

    Raises:
        ModelError: If there is no such model.
    """
    return read_consistent(_path(name_or_path, folder), _identity)


def _path(name_or_path, folder):
    text = os.fspath(name_or_path)
    if not is_name(text):
        _check_no_file(Path(text))
    if is_path(text) or (isinstance(name_or_path, Path) and existing_folder(name_or_path)):
        return Path(text)
    names = [checked_name(text), *([SUCCESSORS[text]] if text in SUCCESSORS else [])]
    found = [shelf / name for name in names for shelf in shelves(folder)]
    return next(filter(existing_folder, found), found[0])


def _check_no_file(path):
    """Refuse the path of a file; a model is a folder."""
    if os.path.isfile(path):
        refuse_file(path)
        raise ModelError("store.file", file=path)
    if path.suffix.lower() in KIND_OF_SUFFIX and existing_folder(path) is None:
        raise ModelError("file.missing", path=path)


def names_in(folder: Path) -> list[str]:
    """Return the names of the models in a folder, including one whose writer was killed between two
    renames.
    """
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if os.path.isdir(entry)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError("store.not_listed", place=printable(folder), reason=reason_of(error)) from None
    replaced = {name[5:] for name in found if name.startswith(".old-") and is_name(name[5:])}
    return sorted(replaced.union(name for name in found if not name.startswith(".")))


def _tokenizer(folder):
    if hugging_face.is_hugging_face(folder):
        return hugging_face.read_contents(folder).tokenizer
    return _text(folder / "tokenizer.json", checked_files(folder))


def _identity(folder):
    try:
        if hugging_face.is_hugging_face(folder):
            return hugging_face.identity(folder)
        found = os.stat(folder / "manifest.json")
    except OSError:
        return "none"
    return f"{found.st_ino}-{found.st_mtime_ns}"


def read_consistent(path: Path, read: Callable[[Path], Result]) -> Result:
    """Return `read(folder)`, repeated until the folder was not replaced meanwhile."""
    for _ in range(_READS):
        found = existing_folder(path)
        if found is None:
            places = shelves() if path.parent == shelves()[0] else (path.parent,)
            names = sorted({name for place in places for name in names_in(place)})
            models = names or Phrase("list.none")
            alike = difflib.get_close_matches(path.name, names)
            near = Phrase("store.near", names=alike) if alike else ""
            raise ModelError("store.missing", place=printable(path), near=near, models=models)
        before = _identity(found)
        try:
            result = read(found)
        except ModelError as error:
            result = error
        if (existing_folder(path), _identity(found)) == (found, before):
            if isinstance(result, ModelError):
                raise result
            return result
    raise ModelError("store.restless", place=path)


def config_and_card(folder: Path) -> tuple[TransformerConfig, dict]:
    """Return config and card of a model, after all checks except those of parameters and tokenizers."""
    if hugging_face.is_hugging_face(folder):
        found = hugging_face.read_contents(folder)
        return found.config, found.card | _hub_effects(folder)
    hashes = checked_files(folder)
    config = _config(folder / "config.json", _text(folder / "config.json", hashes))
    file = folder / "card.json"
    return config, fitted(json_object(file, _text(file, hashes)))


def _read(folder, name):
    if hugging_face.is_hugging_face(folder):
        found = hugging_face.read_folder(folder, name)
        card = found.card | _hub_effects(folder)
        return dataclasses.replace(found, card=card, head_roles=_head_roles(folder, found.config))
    hashes = checked_files(folder)
    file = folder / "parameters.safetensors"
    texts = {name: _text(folder / name, hashes) for name in hashes if name.startswith("tokenizer")}
    with disk_errors(file, "read"), file.open("rb") as stream:
        check_hash(file, hashlib.file_digest(stream, "sha256"), hashes)
    config, card = config_and_card(folder)
    parameters = _parameters(file, config)
    check_tokenizers(folder, texts, config)
    head_roles = _head_roles(folder, config)
    target = texts.get(TARGET)
    return StoredModel(name, folder, config, texts["tokenizer.json"], card, parameters, target, head_roles)


def _hash(folder):
    if not hugging_face.is_hugging_face(folder):
        return checked_files(folder)["parameters.safetensors"]
    whole = hashlib.sha256()
    for file in hugging_face.files_of(folder):
        if file.suffix == ".safetensors":
            with disk_errors(file, "read"), file.open("rb") as stream:
                whole.update(hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()


def _files(folder):
    if hugging_face.is_hugging_face(folder):
        raise ModelError("hugging.as_it_is", place=folder)
    hashes, files = checked_files(folder), {}
    for name in [*hashes, "manifest.json"]:
        with disk_errors(folder / name, "read"):
            files[name] = (folder / name).read_bytes()
        if name in hashes:
            check_hash(folder / name, hashlib.sha256(files[name]), hashes)
    return files


def _text(file, hashes):
    with disk_errors(file, "read"):
        data = file.read_bytes()
    check_hash(file, hashlib.sha256(data), hashes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelError("store.encoding", file=file, reason=str(error)) from None


def _config(file, text):
    try:
        config = TransformerConfig.from_json(text)
    except (ValueError, ArithmeticError) as error:
        reason = error if isinstance(error, Phrase) else printable(error)
        raise ModelError("store.unusable", file=file, reason=reason) from None
    check_config(file, config)
    return config


def _head_roles(folder, config):
    file, text = folder / HEAD_ROLES, _roles_text(folder)
    if text is None:
        return None
    try:
        found = HeadRoles.from_json(text)
        found.check(config)
    except Problem as error:
        raise ModelError("store.unusable", file=file, reason=error) from None
    return found


def _roles_text(folder):
    """Return the text of the head roles; None: they are not kept with the model."""
    file = folder / HEAD_ROLES
    if not hugging_face.is_hugging_face(folder):
        hashes = checked_files(folder)
        return _text(file, hashes) if HEAD_ROLES in hashes else None
    if not file.is_file():
        return None
    with disk_errors(file, "read"):
        check_size(file, file.stat().st_size)
        return file.read_text(encoding="utf-8", errors="replace")


def _hub_effects(folder):
    """Return what was measured of a model of the hub: how well effects are estimated."""
    file = folder / HUB_CARD
    if not file.is_file():
        return {}
    with disk_errors(file, "read"):
        check_size(file, file.stat().st_size)
        facts = fitted(json_object(file, file.read_text(encoding="utf-8", errors="replace")))
    return {name: facts[name] for name in ("effects", "effects_texts") if name in facts}


def _parameters(file, config):
    try:
        with safe_open(file, framework="np") as tensors:
            _check_declared(file, tensors, config)
            parameters = {name: _parameter(file, tensors, name) for name in config.parameter_shapes()}
    except ModelError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, MemoryError) as error:
        raise ModelError("store.damaged", file=file, reason=reason_of(error)) from None
    check_finite(file, parameters)
    return parameters


def _check_declared(file, tensors, config):
    """Check names, shapes and types of all arrays before one of them is read."""
    declared = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118  no mapping
    types = {name: str(part.get_dtype()) for name, part in declared.items()}
    shapes = config.parameter_shapes()
    matrices = {name for name, shape in shapes.items() if len(shape) == 2}
    scales = {name + SCALE: shapes[name][:1] for name in matrices if types.get(name) == "I8"}
    check_shapes(file, {name: tuple(part.get_shape()) for name, part in declared.items()}, shapes | scales)
    for name, found in types.items():
        known = ("F32",) if name in scales else ("F16", "F32", "I8") if name in matrices else ("F16", "F32")
        if found not in known:
            facts = {"name": printable(name), "dtype": found, "known": ", ".join(known)}
            raise ModelError("store.dtype", file=file, **facts)


def _parameter(file, tensors, name):
    array = tensors.get_tensor(name)
    if array.dtype != np.int8:
        return array.astype(np.float32, copy=False)
    scale = tensors.get_tensor(name + SCALE)
    if not ((scale >= 0) & (scale < np.inf)).all():
        raise ModelError("store.scale", file=file, name=name + SCALE)
    with np.errstate(over="ignore"):
        return restore(array, scale)
