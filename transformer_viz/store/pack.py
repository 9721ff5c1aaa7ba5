"""Models as zip files: pack them, and unpack untrusted ones safely."""

import contextlib
import io
import os
import stat
import zipfile
from pathlib import Path

from transformer_viz.store.folders import sweep
from transformer_viz.store.foreign import kind_of_start, kind_of_zip
from transformer_viz.store.format import (
    LARGEST,
    PAYLOAD,
    ModelError,
    check_size,
    checked_name,
    disk_errors,
    name_list,
    printable,
)
from transformer_viz.store.quota import QuotaLike, check_space
from transformer_viz.store.read import read_files, read_model
from transformer_viz.store.write import check_target, new_model
from transformer_viz.trace.zips import COMPRESSIONS, DAMAGED, may_exceed

MAX_RATIO = 100
"""Largest compression ratio: trained parameters hardly compress."""

_FILES = PAYLOAD | {"manifest.json"}
_MOST_FILES = 1000
_CHUNK = 2**20


def pack_model(name: str, folder: Path | None = None) -> bytes:
    """Return a zip of a model's folder, reproducible byte for byte; its files are checked.

    Args:
        name: Of the model.
        folder: Folder of models; None: `models_folder()`.

    Raises:
        ModelError: If there is no such model, or it is damaged.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file, data in sorted(read_files(checked_name(name), folder).items()):
            entry = zipfile.ZipInfo(f"{name}/{file}")  # a fixed date, 1980
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, data)
    return packed.getvalue()


def unpack_model(
    data: bytes | Path,
    *,
    name: str | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
    quota: QuotaLike = None,
) -> str:
    """Unpack and store the model in a zip.

    Args:
        data: The zip, or its path.
        name: Name of the model; None: as its folder in the zip.
        folder: Folder of models; None: `models_folder()`. Created if necessary.
        overwrite: Replace a model of that name.
        quota: Bytes for all models of the folder; None: as in `write_model`.

    Returns:
        The model's name.

    Raises:
        ModelError: If the zip is not exactly one complete model, the name is invalid or taken, or the disk
            refuses.
    """
    with _opened(data) as archive:
        inner, entries = _checked_entries(archive)
        name = checked_name(inner if name is None else name)
        target = check_target(name, folder=folder, overwrite=overwrite)
        sweep(target.parent)
        with new_model(target, _unpacked_size(entries), quota) as temporary:
            _extract_all(archive, entries, temporary, name)
    return name


def unpack_into(data: Path, place: Path) -> str:
    """Unpack the model in a zip into an empty folder, and check it.

    Args:
        data: The zip.
        place: The folder.

    Returns:
        The model's name in the zip, which may be invalid.

    Raises:
        ModelError: As `unpack_model`.
    """
    with _opened(data) as archive:
        inner, entries = _checked_entries(archive)
        with disk_errors(place, "written"):
            check_space(place, _unpacked_size(entries))
            _extract_all(archive, entries, place, printable(inner))
    return inner


@contextlib.contextmanager
def _opened(data):
    """Yield the archive of a zip; other files are refused."""
    with disk_errors(data, "read") if isinstance(data, Path) else contextlib.nullcontext():
        stream = data.open("rb") if isinstance(data, Path) else io.BytesIO(data)
    with stream:
        begin = stream.read(4)
        stream.seek(0)
        if kind := kind_of_start(begin):
            raise ModelError(f"zip.{kind}")
        if not begin.startswith(b"PK"):
            raise ModelError("zip.none")
        if may_exceed(stream, _MOST_FILES):  # listing them would fill the memory
            raise ModelError("zip.files")
        try:
            archive = zipfile.ZipFile(stream)
        except (*DAMAGED, OSError):
            raise _damaged() from None
        with archive:
            yield archive


def _checked_entries(archive):
    """Return the name of the only folder in a zip, and file -> entry, after checking the declared values."""
    entries = {entry.orig_filename: entry for entry in archive.infolist()}
    paths = [path for path in entries if not path.endswith("/")]
    if kind := kind_of_zip(paths):
        raise ModelError(f"zip.{kind}")
    inner = paths[0].partition("/")[0] if paths else ""
    files = {path.removeprefix(f"{inner}/") for path in paths}
    unknown = entries.keys() - {f"{inner}/", *(f"{inner}/{file}" for file in LARGEST)}
    if unknown or not files >= _FILES or inner in ("", ".", ".."):
        raise ModelError("zip.names", missing=name_list(_FILES - files), unknown=name_list(unknown))
    if len(entries) < len(archive.infolist()):
        raise ModelError("zip.twice")
    for entry in entries.values():
        _check_entry(entry)
    size = archive.fp.seek(0, io.SEEK_END)
    total = _unpacked_size(entries)
    if total > MAX_RATIO * size:
        raise ModelError("zip.bomb", size=total, ratio=MAX_RATIO)
    return inner, {file: entries[f"{inner}/{file}"] for file in sorted(files)}


def _unpacked_size(entries):
    return sum(entry.file_size for entry in entries.values())


def _check_entry(entry):
    path, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
    if entry.flag_bits & 1:
        raise ModelError("zip.encrypted", file=printable(path))
    if kind not in (0, stat.S_IFDIR if path.endswith("/") else stat.S_IFREG):
        raise ModelError("zip.plain", file=printable(path))
    if entry.compress_type not in COMPRESSIONS:
        raise ModelError("zip.compression", file=printable(path))
    if not path.endswith("/"):
        check_size(Path(path), entry.file_size)


def _extract_all(archive, entries, place, name):
    """Extract the files of a zip into a folder and check them; errors name the model, not the folder."""
    for file, entry in entries.items():
        _extract(archive, entry, place / file)
    try:
        read_model(place)
    except ModelError as error:
        raise error.renamed(str(place), name) from None


def _extract(archive, entry, file):
    """Extract one file of a zip, up to its maximum size."""
    written = 0
    try:
        with archive.open(entry) as packed, file.open("xb") as stream:
            while chunk := packed.read(_CHUNK):
                written += len(chunk)
                check_size(file, written)
                stream.write(chunk)
            stream.flush()
            os.fsync(stream.fileno())
    except ModelError:
        raise
    except DAMAGED:
        raise _damaged() from None


def _damaged():
    return ModelError("zip.damaged")
