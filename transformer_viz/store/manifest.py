"""Integrity of a model folder: its files against `manifest.json`."""

import json
import stat
from pathlib import Path
from typing import Protocol

from transformer_viz.store.format import (
    DESKTOP,
    FORMAT_VERSION,
    LARGEST,
    OPTIONAL,
    PAYLOAD,
    ModelError,
    check_size,
    disk_errors,
    dump,
    name_list,
    printable,
)
from transformer_viz.store.hugging_face.way_out import refusal_of


class Digest(Protocol):
    """A finished hash, as `hashlib` returns it."""

    def hexdigest(self) -> str:
        """Return the hash in hexadecimal."""
        ...


def checked_files(folder: Path) -> dict[str, str]:
    """Return name -> SHA-256 of a model's files, after all checks except the hashes.

    Raises:
        ModelError: If a file is missing, unknown or of another size than in the manifest.
    """
    with disk_errors(folder, "read"):
        if folder.is_symlink():
            raise ModelError("store.link", place=folder)
        names = {file.name for file in folder.iterdir()} - DESKTOP
        manifest = folder / "manifest.json"
        if manifest.name not in names:
            raise refusal_of(folder) or ModelError("manifest.missing", file=manifest)
        sizes = {name: _size(folder / name) for name in names}
    files = _manifest_files(manifest)
    for place, names in ((manifest, files.keys()), (folder, sizes.keys() - {manifest.name})):
        if names - OPTIONAL != PAYLOAD or names & OPTIONAL != files.keys() & OPTIONAL:
            missing, unknown = name_list(PAYLOAD - names), name_list(names - PAYLOAD)
            raise ModelError("manifest.names", place=place, missing=missing, unknown=unknown)
    for name, entry in files.items():
        if entry["size"] != sizes[name]:
            found, expected = sizes[name], printable(entry["size"])
            raise ModelError("manifest.size", file=folder / name, found=found, expected=expected)
    return {name: entry["sha256"] for name, entry in files.items()}


def _manifest_files(manifest):
    """Return the entries of `manifest.json`; any byte that differs from the canonical form is an error."""
    with disk_errors(manifest, "read"):
        data = manifest.read_bytes()
    try:
        content = json.loads(data)
        version = content["format_version"]
        if type(version) is not int or version < 1 or dump(content).encode() != data:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelError("manifest.damaged", file=manifest) from None
    if version > FORMAT_VERSION:
        raise ModelError("manifest.version", file=manifest, version=printable(version), newest=FORMAT_VERSION)
    files = content.get("files")
    entries = files.values() if isinstance(files, dict) and len(content) == 2 else [None]
    if not all(isinstance(entry, dict) and entry.keys() == {"size", "sha256"} for entry in entries):
        raise ModelError("manifest.entries", file=manifest)
    return files


def _size(file):
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ModelError("manifest.plain", file=printable(file))
    if file.name in LARGEST:
        check_size(file, found.st_size)
    return found.st_size


def check_hash(file: Path, digest: Digest, hashes: dict[str, str]) -> None:
    """Check the `hashlib` digest of a file against the manifest."""
    if digest.hexdigest() != hashes[file.name]:
        raise ModelError("manifest.hash", file=file)
