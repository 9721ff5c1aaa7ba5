"""What `manifest.json` says of the files of a model, and whether they are as it says."""

import json
import stat
from pathlib import Path

from transformer_viz.store.format import (
    AGAIN,
    DESKTOP,
    FORMAT_VERSION,
    LARGEST,
    PAYLOAD,
    TARGET,
    ModelError,
    check_size,
    clean,
    dump,
    errors_named,
    listed,
)


def checked_files(folder: Path) -> dict[str, str]:
    """Return name -> sha256 of the files of a model, having checked everything but the hashes.

    Raises:
        ModelError: If a file is missing, strange or of another size than the manifest says.
    """
    with errors_named(folder, "read"):
        if folder.is_symlink():
            raise ModelError(f"{folder} is a link. Give the path of the folder itself.")
        sizes = {file.name: _size(file) for file in folder.iterdir() if file.name not in DESKTOP}
    manifest = folder / "manifest.json"
    if manifest.name not in sizes:
        raise ModelError(f"{manifest} is missing: the folder is no model, or not a whole one. {AGAIN}")
    files = _manifest_files(manifest)
    for place, names in ((manifest, files.keys()), (folder, sizes.keys() - {manifest.name})):
        if names - {TARGET} != PAYLOAD or (TARGET in names) != (TARGET in files):
            raise ModelError(
                f"{place} must name exactly the files of a model. Missing: {listed(PAYLOAD - names)}; "
                f"unknown: {listed(names - PAYLOAD)}. Remove what is unknown. {AGAIN}"
            )
    for name, entry in files.items():
        if entry["size"] != sizes[name]:
            raise ModelError(
                f"{folder / name} is cut off or changed: it has {sizes[name]} bytes; manifest.json says "
                f"{clean(entry['size'])}. {AGAIN}"
            )
    return {name: entry["sha256"] for name, entry in files.items()}


def _manifest_files(manifest):
    """Return what `manifest.json` says of each file; a byte changed in it, even a space, is an error."""
    with errors_named(manifest, "read"):
        data = manifest.read_bytes()
    try:
        content = json.loads(data)
        version = content["format_version"]
        if type(version) is not int or version < 1 or dump(content).encode() != data:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelError(f"{manifest} is damaged: it is not as it was written. {AGAIN}") from None
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{manifest} has format version {clean(version)}, made by a newer version of Transformer Viz; "
            f"this one reads up to {FORMAT_VERSION}. Update the program."
        )
    files = content.get("files")
    entries = files.values() if isinstance(files, dict) and len(content) == 2 else [None]
    if not all(isinstance(entry, dict) and entry.keys() == {"size", "sha256"} for entry in entries):
        raise ModelError(f"{manifest} must give the size and sha256 of each file, nothing else. {AGAIN}")
    return files


def _size(file):
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{clean(file)} must be a plain file; a link or a folder is not read. {AGAIN}")
    if file.name in LARGEST:
        check_size(file, found.st_size)
    return found.st_size


def check_hash(file: Path, digest, hashes: dict[str, str]) -> None:
    """Check that a file, by its `hashlib` digest, is the one that the manifest names."""
    if digest.hexdigest() != hashes[file.name]:
        raise ModelError(f"{file} is damaged: its sha256 is not the one in manifest.json. {AGAIN}")
