"""Text of a file, plain or gzip, with a specific error for every other format."""

import gzip
import hashlib
import io
import re
import stat
import zlib
from pathlib import Path

from transformer_viz.data.encodings import Decoded, decode, has_mark
from transformer_viz.language import Phrase, Problem

MAX_BYTES = 500 * 2**20
"""Largest file, decompressed."""

_CHUNK = 2**20

_FOREIGN = {
    b"PK\x03\x04": "file.zip",
    b"PAR1": "file.parquet",
    b"SQLite format 3": "file.sqlite",
    b"%PDF": "file.pdf",
}
"""First bytes of a file -> code of the phrase that names its format."""


class DataError(Problem):
    """A file or a row is unusable; the message gives the place, the fault and the remedy."""


def line_reference(path: Path, line: int) -> Phrase:
    """Return the reference to a line of a file, for an error."""
    return Phrase("file.line", path=path, line=line)


def read_bytes(path: Path, sha256: str = "", most: int | None = None) -> bytes:
    """Return the content of a file, decompressed.

    Args:
        path: The file.
        sha256: Expected SHA-256 of the file as it is on disk, in hexadecimal; "": any.
        most: Most bytes, decompressed; None: `MAX_BYTES`.

    Raises:
        DataError: If it cannot be read, has changed, or is too large decompressed, which is determined
            without holding it in memory.
    """
    most = MAX_BYTES if most is None else most
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError("file.folder", path=path)
        if not stat.S_ISREG(mode):  # a pipe or a device may have no end
            raise DataError("file.device", path=path)
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            size = _unpacked_size(file, most) if packed else path.stat().st_size
            if size > most:
                raise DataError("file.large", path=path, most=most // 2**20)
            file.seek(0)
            data = file.read(most)
            if sha256 and hashlib.sha256(data).hexdigest() != sha256:
                raise DataError("file.changed", path=path)
            return gzip.GzipFile(fileobj=io.BytesIO(data)).read(most) if packed else data
    except FileNotFoundError:
        raise DataError("file.gone" if sha256 else "file.missing", path=path) from None
    except DataError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError("file.unreadable", path=path, reason=reason) from None


def text_of(path: Path, data: bytes, encoding: str = "") -> Decoded:
    """Return the text of a file, without a byte order mark, and its encoding; see `decode` for bytes that do
    not belong to it.

    Args:
        path: The file, for errors.
        data: Its content, decompressed.
        encoding: One of `encodings.ENCODINGS`; "": it is recognised.

    Raises:
        DataError: If it is no text in a known encoding.
    """
    for magic, kind in _FOREIGN.items():
        if data.startswith(magic):
            raise DataError("file.foreign", path=path, kind=Phrase(kind))
    if b"\x00" in data[:1000] and not (has_mark(data) or encoding.startswith("UTF-")):
        raise DataError("file.binary", path=path)
    try:
        decoded = decode(data, encoding)
    except UnicodeDecodeError as error:
        place = line_reference(path, data.count(b"\n", 0, error.start) + 1)
        name = error.encoding.upper()[: len("UTF-16")]  # it may end in -LE
        raise DataError("file.encoding", place=place, encoding=name) from None
    if re.match(r"\s*<(?:!doctype\s+html|html|head|\?xml)\b", decoded.text[:1000], re.IGNORECASE):
        raise DataError("file.html", path=path)
    return decoded


def _unpacked_size(file, most):
    """Return the decompressed size of a gzip file, or a size beyond `most`: a small file may hold
    terabytes.
    """
    size, unpacked = 0, gzip.GzipFile(fileobj=file)
    while size <= most and (chunk := unpacked.read(_CHUNK)):
        size += len(chunk)
    return size
