"""Files of models that other programs saved are refused where a model is expected, with a way out."""

import pickle
import re

import keras
import pytest
from zipping import CENTRAL, zipped

from transformer_viz import store
from transformer_viz.language import sentence_of

KERAS = "{} is a model that Keras saved, which is never opened here"
HDF = "{} is an HDF5 file of Keras, which is never opened"
PICKLE = "{} is a pickle, as PyTorch writes it, which is never opened"
OTHERS = {
    "model.h5": (b"\x89HDF\r\n\x1a\n", HDF),
    "renamed.keras": (b"\x89HDF\r\n\x1a\n", HDF),
    "empty.hdf5": (b"", HDF),
    "cut_off.keras": (b"PK\x03\x04", KERAS),
    "countless.keras": (b"PK\x03\x04" + CENTRAL * 20_000, KERAS),
    "model.pkl": (pickle.dumps([1]), PICKLE),
    "noname": (pickle.dumps([1], 2), PICKLE),
    "model.pt": (zipped({"model/data.pkl": b""}), PICKLE),
    "pytorch_model.bin": (b"abc", PICKLE),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The content of a file that Keras saved, with code that makes a folder beside it if it is run."""
    folder = tmp_path_factory.mktemp("saved")
    trap = str(folder / "trap")
    inputs = keras.Input((5, 8))
    own = keras.layers.Lambda(lambda x: [__import__("os").mkdir(trap), x][1], (5, 8))(inputs)
    keras.Model(inputs, keras.layers.MultiHeadAttention(2, 4)(own, inputs)).save(folder / "model.keras")
    yield (folder / "model.keras").read_bytes()
    assert [file.name for file in folder.iterdir()] == ["model.keras"]


def refused(path, sentence):
    return pytest.raises(store.ModelError, match="^" + re.escape(sentence.format(path)))


@pytest.mark.parametrize("name", ["model.keras", "MODEL.KERAS", "model.h5", "model.zip", "noname"])
def test_a_file_of_keras_is_refused_under_any_name_with_the_lines_that_load_it(saved, tmp_path, name):
    (path := tmp_path / name).write_bytes(saved)
    for read in (store.read_model, store.read_config):
        with refused(path, KERAS) as error:
            read(path)
    for language in ("en", "zh"):
        sentence = sentence_of(error.value, language)
        assert f'`model = keras.saving.load_model("{path.as_posix()}")`' in sentence
        assert "`weights = tv.attention_of(model, inputs)`" in sentence
    assert sentence.startswith(f"{path} 是 Keras 保存的模型。")


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_refused_with_the_way_out(tmp_path, name):
    content, sentence = OTHERS[name]
    (path := tmp_path / name).write_bytes(content)
    for read in (store.read_model, store.read_config):
        with refused(path, sentence) as error:
            read(path)
        assert re.search(r"save_pretrained|tv\.attention_of\(model, inputs\)", str(error.value))
    assert sentence_of(error.value, "zh").startswith(f"{path} 是")


def test_files_of_other_programs_beside_models_are_told_of(saved, tmp_path):
    (tmp_path / "mine.keras").write_bytes(saved)
    (tmp_path / "mine.zip").write_bytes(saved)
    (tmp_path / "old.H5").write_bytes(b"\x89HDF\r\n")
    (tmp_path / "renamed.bin").write_bytes(saved)
    (tmp_path / "torch.pt").write_bytes(b"\x80\x02")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "folder.keras").mkdir()
    told = store.refused_files(tmp_path)
    codes = ["foreign.keras", "foreign.hdf", "foreign.keras", "foreign.pickle"]
    assert [error.code for error in told] == codes
    assert str(told[0]).startswith(KERAS.format(tmp_path / "mine.keras"))
    assert store.refused_files(tmp_path / "missing") == []


def test_a_file_of_keras_is_not_unpacked(saved, tmp_path):
    with pytest.raises(
        store.ModelError, match=r"^This is a model saved by Keras, not a packed one\."
    ) as error:
        store.unpack_model(saved, folder=tmp_path)
    for language in ("en", "zh"):
        sentence = sentence_of(error.value, language)
        assert '`model = keras.saving.load_model("model.keras")`' in sentence
        assert "`weights = tv.attention_of(model, inputs)`" in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_no_model_says_what_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a")
    with refused("notes.txt", "{} is a file, and a model is a folder."):
        store.read_model("./notes.txt")
    with refused("gone.keras", "There is no file {}."):
        store.read_model("gone.keras")
