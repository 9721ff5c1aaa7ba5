"""Reading untrusted zip files: declared sizes are checked before memory is allocated."""

import math
import os
import struct
import zipfile
import zlib
from typing import BinaryIO

import numpy as np

MAX_ARRAYS = 4_000_000_000
"""Largest total size of the arrays of a file, in bytes."""

MAX_FILES = 100_000
"""Most arrays in a file; 256 blocks have 10,000."""

COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Accepted compression methods."""

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,  # encrypted, of an unknown compression, nested without end
    ValueError,
)
"""Exceptions raised by damaged zips, besides OSError."""

_ENTRY = b"PK\x01\x02"
_CHUNK = 2**20


def may_exceed(stream: BinaryIO, most: int) -> bool:
    """Return whether a zip may list more than `most` files, without listing them; rewinds the stream."""
    count, end = 0, b""
    while chunk := stream.read(_CHUNK):
        count += (end + chunk).count(_ENTRY)
        end = (end + chunk)[1 - len(_ENTRY) :]
    stream.seek(0)
    return count > most


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Return name -> array of an `.npz` file, without executing anything in it.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not an .npz file, is damaged, or declares more than it contains or than
            `MAX_ARRAYS`.
    """
    with open(path, "rb") as stream:
        if may_exceed(stream, MAX_FILES):
            raise ValueError(f"it holds more than {MAX_FILES:,} arrays")
        try:
            with zipfile.ZipFile(stream) as archive:
                entries = archive.infolist()
                size = sum(entry.file_size for entry in entries)
                if size > MAX_ARRAYS:
                    raise ValueError(f"its arrays take {size:,} bytes; at most {MAX_ARRAYS:,} are read")
                return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries}
        except (*DAMAGED, MemoryError) as error:
            raise ValueError(str(error) or type(error).__name__) from None


def _array(archive, entry):
    """Return one array; its size must equal the size declared in its header."""
    if entry.compress_type not in COMPRESSIONS:
        raise ValueError(f"{entry.filename!r} is compressed in an unusual way")
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{entry.filename!r} is of an unknown version")
        read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, by_columns, dtype = read_header(stream)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or stream.tell() + size != entry.file_size:
            raise ValueError(f"{entry.filename!r} is not as its header says")
        data = bytearray(size)
        if stream.readinto(data) != size:
            raise ValueError(f"{entry.filename!r} is cut off")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
