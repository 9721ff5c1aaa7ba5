"""A saved trace from anywhere is read, or refused in a sentence before it takes more memory than it may."""

import io
import random
import struct
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from zipping import CENTRAL, LOCAL, with_field, zipped

from transformer_viz.trace import zips
from transformer_viz.trace.trace import Trace


@pytest.fixture(scope="module")
def saved(explorer, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "t.npz"
    explorer.trace("a lovely film").save(path)
    return path.read_bytes()


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"is not a trace saved by Transformer Viz \(.+\)\.$") as error:
        Trace.load(path)
    return str(error.value)


def header(shape, kind="<f4"):
    """Return the head of an array that declares this shape."""
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "array", [np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.array("é")]
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_as_numpy_wrote_them(tmp_path, array, save):
    save(tmp_path / "a.npz", a=array, empty=np.zeros((0, 3)))
    arrays = zips.read_arrays(tmp_path / "a.npz")
    assert_array_equal(arrays["a"], array)
    assert (arrays["a"].dtype, arrays["a"].flags.writeable) == (array.dtype, True)
    assert arrays["empty"].shape == (0, 3)


@pytest.mark.parametrize(
    "shape", [(10**9, 4), (2**62, 2**62), (2**64,), (-1,), (-2, -2), (3, 10**18, 0), "3", (1.5,)], ids=str
)
def test_an_array_that_declares_another_size_is_refused_before_memory_is_taken(tmp_path, shape):
    refused(tmp_path / "t.npz", zipped({"meta.npy": header(shape) + bytes(24)}))


def test_arrays_that_unpack_to_more_than_is_read_are_refused_unread(tmp_path, monkeypatch):
    data = zipped({"meta.npy": header((1000,)) + bytes(4000)})
    monkeypatch.setattr(zips, "MAX_ARRAYS", 4000)
    assert "its arrays take 4,128 bytes; at most 4,000 are read" in refused(tmp_path / "t.npz", data)
    monkeypatch.setattr(zips, "MAX_FILES", 2)
    assert "it holds more than 2 arrays" in refused(tmp_path / "t.npz", zipped(dict.fromkeys("abc", b"")))


def test_a_size_that_is_a_lie_is_refused(saved, tmp_path):
    for size in (0, 1, 2**32 - 2):
        refused(tmp_path / "t.npz", with_field(saved, CENTRAL, 24, "<I", size))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: with_field(data, CENTRAL, 10, "<H", 99),
        lambda data: with_field(data, CENTRAL, 10, "<H", zipfile.ZIP_LZMA),
        lambda data: with_field(with_field(data, LOCAL, 6, "<H", 1), CENTRAL, 8, "<H", 1),
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"\x93NUMPY", b"\x93NUMPX"),
    ],
    ids=["compression", "lzma", "encrypted", "cut off", "magic"],
)
def test_a_zip_of_another_kind_is_refused(tmp_path, change):
    data = zipped({"meta.npy": header((1,)) + bytes(4)}, zipfile.ZIP_STORED)
    refused(tmp_path / "t.npz", change(data))


def test_too_little_memory_is_a_sentence(saved, tmp_path, monkeypatch):
    def full(stream):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_magic", full)
    assert "(MemoryError)" in refused(tmp_path / "t.npz", saved)


def test_objects_are_never_read(tmp_path):
    out = io.BytesIO()
    np.savez(out, meta=np.array([{"a": 1}], dtype=object))
    refused(tmp_path / "t.npz", out.getvalue())


META = ["", "[]", "3", "{}", '{"model": "m", "tokens": []}', "[" * 100_000, '{"offsets": 5}', "9" * 5000]


@pytest.mark.parametrize("meta", META, ids=len)
def test_facts_that_are_none_are_refused(saved, tmp_path, meta):
    with np.load(io.BytesIO(saved)) as archive:
        arrays = dict(archive) | {"meta": np.array(meta)}
    out = io.BytesIO()
    np.savez(out, **arrays)
    refused(tmp_path / "t.npz", out.getvalue())


@pytest.mark.filterwarnings("ignore")
def test_any_change_of_a_saved_trace_is_refused_or_read(saved, tmp_path):
    rng, path, refusals = random.Random(5), tmp_path / "t.npz", 0
    for _ in range(1500):
        data = bytearray(saved)
        for _ in range(rng.choice((1, 1, 4))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        try:
            Trace.load(path)
        except ValueError as error:
            refusals += 1
            assert str(path) in str(error)  # noqa: PT017  any change may also be harmless
    assert refusals > 1000


def test_a_damaged_stream_is_a_sentence(tmp_path):
    good = zipped({"meta.npy": header((1000,)) + random.Random(1).randbytes(4000)})
    place = good.index(b"meta.npy") + len("meta.npy") + 3
    refused(tmp_path / "t.npz", good[:place] + b"\xff" * 40 + good[place + 40 :])
