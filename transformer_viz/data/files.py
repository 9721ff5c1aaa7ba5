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


class Source:
    """A data file, read once; its text is decoded once for each encoding that is asked for.

    Args:
        path: The file.
        sha256: Expected SHA-256, as of the attribute; "": any.
        most_bytes: Most bytes, decompressed; None: `MAX_BYTES`.

    Attributes:
        path: The file.
        data: Its content, decompressed.
        sha256: SHA-256 of the file as it is on disk, in hexadecimal.

    Raises:
        DataError: If it cannot be read, has changed, or is too large decompressed, which is determined
            without holding it in memory.
    """

    def __init__(self, path: str | Path, *, sha256: str = "", most_bytes: int | None = None):
        self.path, self.most_bytes = Path(path), MAX_BYTES if most_bytes is None else most_bytes
        packed, self.data = _read(self.path, self.most_bytes, is_known=bool(sha256))
        self.sha256 = hashlib.sha256(packed).hexdigest()
        if sha256 and self.sha256 != sha256:
            raise DataError("file.changed", path=path)
        self._decoded: dict[str, Decoded] = {}

    @classmethod
    def of(cls, file: "str | Path | Source") -> "Source":
        """Return a file as a source; one that is a source already, as it is."""
        return file if isinstance(file, Source) else cls(file)

    def text(self, encoding: str = "") -> Decoded:
        """Return the text of the file, without a byte order mark, and its encoding; see `decode` for bytes
        that do not belong to it.

        Args:
            encoding: One of `encodings.ENCODINGS`; "": it is recognised.

        Raises:
            DataError: If it is no text in a known encoding.
        """
        if encoding not in self._decoded:
            self._decoded[encoding] = _decoded(self.path, self.data, encoding)
        return self._decoded[encoding]


def _read(path, most, *, is_known):
    """Return the content of a file as it is on disk, and decompressed."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError("file.folder", path=path)
        if not stat.S_ISREG(mode):  # a pipe or a device may have no end
            raise DataError("file.device", path=path)
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            size = _unpacked_size(file, most) if is_packed else path.stat().st_size
            if size > most:
                raise DataError("file.large", path=path, most=most // 2**20)
            file.seek(0)
            data = file.read(most)
        return data, gzip.GzipFile(fileobj=io.BytesIO(data)).read(most) if is_packed else data
    except FileNotFoundError:
        raise DataError("file.gone" if is_known else "file.missing", path=path) from None
    except DataError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError("file.unreadable", path=path, reason=reason) from None


def _decoded(path, data, encoding):
    """Return the text of a file; as `Source.text`."""
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
