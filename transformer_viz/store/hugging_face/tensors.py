"""Arrays of safetensors files, in one file or several, of any floating-point type."""

import json
import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transformer_viz.store.format import ModelError, disk_errors, printable
from transformer_viz.store.hugging_face.files import LARGEST_INDEX, json_of
from transformer_viz.store.hugging_face.way_out import refusal_of

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

MAX_TENSORS = 100_000
"""Most tensors of a file."""

TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}
"""Types that are read; those of bfloat16 are the upper halves of float32."""


WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F32": 4, "F64": 8}
"""Type -> bytes of a number; of types that are not read, too, as buffers may have them."""


class Stored(NamedTuple):
    """A tensor in a file.

    Attributes:
        name: Its name.
        file: The file.
        dtype: Its type, as the file calls it.
        shape: Its shape.
        begin: Its first byte in the file.
    """

    name: str
    file: Path
    dtype: str
    shape: tuple[int, ...]
    begin: int

    def read(self) -> np.ndarray:
        """Return the array as float32: of float32 a read-only view of the file, of other types a copy.

        Raises:
            ModelError: If it is of another type than floating point, or the file cannot be read.
        """
        if self.dtype not in TYPES:
            facts = {"name": printable(self.name), "dtype": printable(self.dtype), "known": ", ".join(TYPES)}
            raise ModelError("hugging.dtype", file=self.file, **facts)
        with disk_errors(self.file, "read"):
            found = np.memmap(self.file, TYPES[self.dtype], "r", self.begin, self.shape or (1,))
        if self.dtype == "BF16":
            return (found.astype(np.uint32) << 16).view(np.float32).reshape(self.shape)
        return np.asarray(found, np.float32).reshape(self.shape)


def stored_tensors(folder: Path) -> dict[str, Stored]:
    """Return name -> tensor of a folder, from the headers of its files alone.

    Raises:
        ModelError: If there is no such file, or one is damaged.
    """
    if (folder / SINGLE).is_file():
        return _in_file(folder / SINGLE)
    index = folder / INDEX
    if not index.is_file():
        raise refusal_of(folder) or ModelError("hugging.no_weights", place=folder, file=SINGLE)
    listed = json_of(index, LARGEST_INDEX).get("weight_map")
    names = {*map(str, listed.values())} if isinstance(listed, dict) else set()
    if not names or any(Path(name).name != name for name in names):
        raise ModelError("hugging.index", file=index)
    found = {}
    for name in sorted(names):
        if not (folder / name).is_file():
            raise ModelError("hugging.no_shard", file=folder / name)
        found |= _in_file(folder / name)
    return found


def _in_file(file):
    with disk_errors(file, "read"), file.open("rb") as stream:
        size = file.stat().st_size
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > size - 8:
            raise ModelError("hugging.shard", file=file)
        if length > LARGEST_INDEX:
            raise ModelError("hugging.header", file=file, size=length, most=LARGEST_INDEX)
        header = stream.read(length)
    try:
        listed = json.loads(header)
        listed.pop("__metadata__", None)
        if len(listed) > MAX_TENSORS:
            raise ModelError("hugging.tensors", file=file, found=len(listed), most=MAX_TENSORS)
        return {name: _stored(file, name, entry, 8 + length, size) for name, entry in listed.items()}
    except ModelError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ModelError("hugging.shard", file=file) from None


def _stored(file, name, entry, data, size):
    shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
    is_whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    width = WIDTHS.get(entry["dtype"], 0)
    if not is_whole or (width and end - begin != width * math.prod(shape)) or data + end > size:
        raise ValueError
    return Stored(name, file, entry["dtype"], shape, data + begin)
