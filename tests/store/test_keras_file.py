"""What a file of Keras says about its model, read without Keras; files of other programs are refused."""

import json
import pickle
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import saved_by_keras
from zipping import CENTRAL, with_field, zipped

from transformer_viz import store
from transformer_viz.language import sentence_of
from transformer_viz.store.keras_file import LARGEST
from transformer_viz.values.keras_file import KerasFile, SavedAttention

WAY_OUT = r"tv\.attention_of\("


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return how to save a model and read its file."""
    folder = tmp_path_factory.mktemp("saved")

    def read(model):
        model.save(folder / "model.keras")
        return store.keras_file(folder / "model.keras")

    return read


def made(folder, config, metadata=None, name="model.keras", **files):
    """Return the path of a file with this config, as bytes or to be written as JSON."""
    config = config if isinstance(config, bytes) else json.dumps(config).encode()
    metadata = metadata if isinstance(metadata, bytes) else json.dumps(metadata or {}).encode()
    content = {"metadata.json": metadata, "config.json": config, "model.weights.h5": b"", **files}
    (folder / name).write_bytes(zipped(content))
    return folder / name


def entry(kind, module="keras.layers", registered=None, **config):
    return {"module": module, "class_name": kind, "config": config, "registered_name": registered}


def refused(path, sentence):
    return pytest.raises(store.ModelError, match="^" + re.escape(sentence.format(path)))


def test_heads_and_sizes_of_nested_models_are_told(saved):
    found = saved(saved_by_keras.nested())
    assert (found.model_class, found.name) == ("Functional", "outer")
    assert re.fullmatch(r"3\.\d+\.\d+", found.keras_version)
    assert found.layers == (
        SavedAttention("inner/grouped", "GroupQueryAttention", 6, 4),
        SavedAttention("plain", "Attention"),
    )
    assert found.own_classes == found.with_code == ()


def test_what_only_own_code_can_open_is_named(saved):
    found = saved(saved_by_keras.registered())
    assert found.layers == (SavedAttention("own", "OwnAttention", 2, 3),)
    assert found.own_classes == ("mine>OwnAttention", "mine>twice", "mine>Registered")
    whole = saved_by_keras.Registered(name="whole")
    whole(np.zeros((1, 5, 7), "f4"))
    found = saved(whole)
    assert (found.model_class, found.layers, found.own_classes) == ("Registered", (), ("mine>Registered",))


def test_code_is_told_and_not_run(saved, tmp_path):
    trap = tmp_path / "trap"
    found = saved(saved_by_keras.with_trap(str(trap)))
    assert found.with_code == ("own",)
    assert [layer.path for layer in found.layers] == ["first"]
    with pytest.raises(store.ModelError, match="; Python code in: own"):
        store.read_model(found.path)
    assert not trap.exists()


def test_a_file_reads_as_a_table():
    layers = (
        SavedAttention("inner/grouped", "GroupQueryAttention", 6, 4),
        SavedAttention("plain", "Attention"),
    )
    text = repr(KerasFile(Path("a.keras"), "Functional", "a", "3.15.1", layers, ("mine>Net",), ("trap",)))
    assert text.split("\n") == [
        "KerasFile('a.keras', Functional, Keras 3.15.1, own classes: mine>Net, code in: trap)",
        "  layer          class                heads  key_dim",
        "  inner/grouped  GroupQueryAttention      6        4",
        "  plain          Attention",
    ]
    many = repr(KerasFile(Path("a.keras"), "Net", "", "", layers * 15))
    assert many.endswith("\n  ... 10 more")
    assert len(many.split("\n")) == 23


LIES = {
    "texts": entry("MultiHeadAttention", name=5, num_heads="many", key_dim=[4]),
    "bools": entry("MultiHeadAttention", name=None, num_heads=True, key_dim=2.5),
    "negative": entry("MultiHeadAttention", name=[], num_heads=-1, key_dim=10**400),
}


@pytest.mark.parametrize("name", LIES)
def test_numbers_of_the_wrong_type_are_left_out(tmp_path, name):
    found = store.keras_file(
        made(tmp_path, entry("Functional", name={}, layers=[LIES[name]]), {"keras_version": 7})
    )
    assert found.layers == (SavedAttention("", "MultiHeadAttention"),)
    assert (found.name, found.keras_version) == ("", "")


def test_names_are_texts_and_never_paths(tmp_path):
    layer = entry("Attention", name="../../etc/passwd\n\x1b[31m" + "a" * 10_000)
    path = made(tmp_path, entry("Functional", layers=[layer]), **{"../../escaped": b"", "/absolute": b""})
    [layer] = store.keras_file(path).layers
    assert layer.path.isprintable()
    assert len(layer.path) < 120
    assert [file.name for file in tmp_path.iterdir()] == ["model.keras"]
    assert not (tmp_path.parents[1] / "escaped").exists()


@pytest.mark.parametrize(
    ("module", "registered", "named"),
    [
        ("keras.src.models.functional", "Functional", ()),
        ("keras", None, ()),
        ("kerasx.layers", None, ("kerasx.layers.Net",)),
        ("keras.layers", "evil>Net", ("evil>Net",)),
        ("__main__", "Net", ("__main__.Net",)),
        (None, "a>Net", ("a>Net",)),
        (5, {}, ("5.Net",)),
    ],
)
def test_a_class_is_that_of_keras_only_by_module_and_name(tmp_path, module, registered, named):
    kind = "Functional" if registered == "Functional" else "Net"
    found = store.keras_file(made(tmp_path, entry("Sequential", layers=[entry(kind, module, registered)])))
    assert found.own_classes == named


def deep(levels):
    return b'{"class_name": "A", "config": {"name": "a", "layer": ' * levels + b"1" + b"}}" * levels


DAMAGED = {
    "not JSON": (b"{", "its config.json is not JSON ("),
    "not UTF-8": (b"\xff\xfe{\x00", "its config.json is not JSON ("),
    "a list": (b"[]", "its config.json names no class of a model."),
    "a class that is none": (
        b'{"class_name": 5, "config": {}}',
        "its config.json names no class of a model.",
    ),
    "a huge number": (b'{"class_name": "A", "a": ' + b"1" * 5000 + b"}", "its config.json is not JSON ("),
    "101 models": (deep(101), "its config.json is not JSON (nested too deeply)."),
    "deep": (deep(100_000), "its config.json is not JSON (nested too deeply)."),
    "deep lists": (b"[" * 10**6, "its config.json is not JSON (nested too deeply)."),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_config_that_is_none_is_refused(tmp_path, name):
    content, reason = DAMAGED[name]
    path = made(tmp_path, content)
    with refused(path, f"{{}} cannot be read as a file of Keras: {reason}"):
        store.keras_file(path)
    assert store.keras_file(made(tmp_path, deep(100))).model_class == "A"


@pytest.mark.parametrize("name", LARGEST)
def test_a_gigantic_file_in_the_zip_is_refused(tmp_path, name):
    size = LARGEST[name] + 1
    bomb = (
        {"config": b" " * size, "metadata": None}
        if name == "config.json"
        else {"config": {}, "metadata": b" " * size}
    )
    path = made(tmp_path, **bomb)
    expected = f"{{}}: its {name} has {size:,} bytes, more than the {LARGEST[name]:,} that are read."
    with refused(path, expected) as error:
        store.keras_file(path)
    assert re.search(WAY_OUT, str(error.value))
    path.write_bytes(with_declared_sizes(path.read_bytes(), 100))
    with pytest.raises(store.ModelError):
        store.keras_file(path)


def test_files_of_other_programs_beside_models_are_told_of(tmp_path):
    made(tmp_path, entry("Functional"), name="mine.keras")
    (tmp_path / "old.H5").write_bytes(b"\x89HDF\r\n")
    (tmp_path / "torch.pt").write_bytes(b"\x80\x02")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "folder.keras").mkdir()
    keras, hdf, torch = store.refused_files(tmp_path)
    assert re.search(rf"mine\.keras is a model that Keras saved\..*Functional.*{WAY_OUT}", str(keras))
    assert "old.H5 is an HDF5 file of Keras, which is never opened" in str(hdf)
    assert "torch.pt is a pickle" in str(torch)
    assert store.refused_files(tmp_path / "missing") == []


def with_declared_sizes(data, size):
    """Return a zip whose directory declares another size for each file."""
    changed, place = bytearray(data), 0
    while (place := changed.find(CENTRAL, place)) >= 0:
        struct.pack_into("<I", changed, place + 24, size)
        place += 4
    return bytes(changed)


def test_a_zip_that_is_encrypted_packed_strangely_or_cut_off_is_refused(tmp_path):
    good = made(tmp_path, entry("Functional")).read_bytes()
    for data in (with_field(good, CENTRAL, 8, "<H", 1), with_field(good, CENTRAL, 10, "<H", 99), good[:60]):
        (tmp_path / "model.keras").write_bytes(data)
        with refused(tmp_path / "model.keras", "{} cannot be read as a file of Keras: "):
            store.keras_file(tmp_path / "model.keras")


def test_a_zip_of_countless_files_is_not_listed(tmp_path):
    path = made(tmp_path, entry("Functional"))
    path.write_bytes(path.read_bytes() + CENTRAL * 20_000)
    with refused(path, "{} is no file that Keras 3 has saved."):
        store.keras_file(path)


HDF = "{} is an HDF5 file of Keras, which is never opened"
PICKLE = "{} is a pickle, as PyTorch writes it, which is never opened"
OTHERS = {
    "model.h5": (b"\x89HDF\r\n\x1a\n", HDF),
    "renamed.keras": (b"\x89HDF\r\n\x1a\n", HDF),
    "empty.hdf5": (b"", HDF),
    "model.pkl": (pickle.dumps([1]), PICKLE),
    "noname": (pickle.dumps([1], 2), PICKLE),
    "model.pt": (
        zipped({"model/data.pkl": b""}),
        "{} is a pickle, as PyTorch writes it, which is never opened",
    ),
    "pytorch_model.bin": (b"abc", PICKLE),
}


@pytest.mark.parametrize("name", OTHERS)
def test_hdf5_and_pickles_are_refused_with_the_way_out(tmp_path, name):
    content, sentence = OTHERS[name]
    (path := tmp_path / name).write_bytes(content)
    for read in (store.keras_file, store.read_model, store.read_config):
        with refused(path, sentence) as error:
            read(path)
        assert re.search(r"save_pretrained|model\.save\(", str(error.value))
    assert sentence_of(error.value, "zh").startswith(f"{path} 是")


def test_a_path_that_is_no_model_says_what_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a")
    with refused("notes.txt", "{} is a file, and a model is a folder."):
        store.read_model("./notes.txt")
    with refused("notes.txt", "{} is no file that Keras 3 has saved."):
        store.keras_file("notes.txt")
    with refused(tmp_path, "{} is no file that Keras 3 has saved."):
        store.keras_file(tmp_path)
    for read in (store.keras_file, store.read_model):
        with refused("gone.keras", "There is no file {}."):
            read("gone.keras")


def test_a_file_of_keras_is_no_model_of_the_shelf_and_says_what_is_in_it(saved, monkeypatch):
    path = saved(saved_by_keras.functional()).path
    monkeypatch.chdir(path.parent)
    with refused(path.name, "{} is a model that Keras saved. Its layers are its own") as error:
        store.read_model(path.name)
    layers = (
        "2 attention layers (first: MultiHeadAttention(num_heads=3, key_dim=4), second: MultiHeadAttention("
    )
    assert layers in str(error.value)
    assert f'tv.attention_of("{path.name}", inputs, trusted=True)' in str(error.value)
    assert "有 2 个注意力层（first: " in sentence_of(error.value, "zh")
