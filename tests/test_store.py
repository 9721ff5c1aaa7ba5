import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save

from transformer_viz import store
from transformer_viz.config import TransformerConfig
from transformer_viz.store import ModelError, list_models, read_model, write_model

CONFIG = TransformerConfig(vocab_size=11, d_model=6, num_heads=3, ffn_dim=5, max_len=7)
WORDS = {"[PAD]": 0, "[UNK]": 1, **{f"word{i}": i for i in range(2, 11)}}
TOKENIZER = json.dumps({"version": "1.0", "model": {"type": "WordLevel", "vocab": WORDS}})
CARD = {"task": "classification", "title": "影评", "test": {"accuracy": 0.75}}
FILES = ["card.json", "config.json", "manifest.json", "parameters.safetensors", "tokenizer.json"]
PAYLOAD = [name for name in FILES if name != "manifest.json"]
AGAIN = "Copy the folder again from where it came from, or train the model again."
MATCH = "Both must come from the same model."
UNCHANGED = "Nothing was changed: check the space and your rights there, or choose another folder."
NEWER = "made by a newer version of Transformer Viz; this one reads up to 1. Update the program."
NAME_RULE = (
    "A model's name must be 1 to 64 of a-z, 0-9, '_' and '-', begin with a letter or digit, and be no device "
    "name of Windows."
)
EMBEDDING = "token_embedding/embeddings"


def parameters(seed=7, config=CONFIG):
    normal = np.random.default_rng(seed).normal
    return {name: normal(size=shape).astype(np.float32) for name, shape in config.parameter_shapes().items()}


def write(folder, name="tiny", **changes):
    parts = {"config": CONFIG, "tokenizer": TOKENIZER, "card": CARD, "parameters": parameters()}
    return write_model(name, folder=folder, **{**parts, "dtype": "float32", **changes})


def write_version(folder, version, **changes):
    """Write a model whose every number and whose card say the same."""
    filled = {name: np.full_like(array, version) for name, array in parameters().items()}
    return write(folder, parameters=filled, card={"version": version}, **changes)


def version_of(model):
    """Return which version a model is, having checked that it is no mixture."""
    values = {float(value) for array in model.parameters.values() for value in array.flat}
    assert values == {model.card["version"]}
    return model.card["version"]


def sign(folder):
    """Make the manifest right again, so that what reads the files behind it is reached."""
    entries = {
        name: {
            "size": (folder / name).stat().st_size,
            "sha256": store.hashlib.sha256((folder / name).read_bytes()).hexdigest(),
        }
        for name in PAYLOAD
    }
    content = {"format_version": 1, "files": entries}
    (folder / "manifest.json").write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")


def put(folder, name, data):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    sign(folder)


def leftovers(folder):
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(".")]


@contextlib.contextmanager
def refused(sentence):
    with pytest.raises(ModelError) as error:
        yield
    assert str(error.value) == sentence


@contextlib.contextmanager
def refused_with(*parts):
    with pytest.raises(ModelError) as error:
        yield
    assert [part for part in parts if part not in str(error.value)] == [], str(error.value)


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "models")


def test_float32_comes_back_bit_for_bit(model):
    read = read_model("tiny", model.parent)
    assert (read.name, read.path, read.config, read.tokenizer, read.card) == (
        "tiny",
        model,
        CONFIG,
        TOKENIZER,
        CARD,
    )
    assert read.parameters.keys() == parameters().keys()
    for name, array in parameters().items():
        assert read.parameters[name].dtype == np.float32
        assert read.parameters[name].tobytes() == array.tobytes()


def test_float16_comes_back_rounded_and_as_float32(tmp_path):
    read = read_model(write(tmp_path, dtype="float16"))
    for name, array in parameters().items():
        assert read.parameters[name].dtype == np.float32
        np.testing.assert_array_equal(read.parameters[name], array.astype(np.float16))


def test_memory_layout_and_float64_do_not_matter(tmp_path):
    strange = {name: np.asfortranarray(array.astype(np.float64)) for name, array in parameters().items()}
    strange[EMBEDDING] = strange[EMBEDDING][::-1][::-1]
    read = read_model(write(tmp_path, parameters=strange))
    for name, array in parameters().items():
        np.testing.assert_array_equal(read.parameters[name], array)


def test_a_folder_holds_exactly_the_five_files(model):
    assert sorted(file.name for file in model.iterdir()) == FILES
    assert leftovers(model.parent) == []


@pytest.mark.parametrize("give", [str, Path, lambda path: f"{path}/", lambda path: path / ".." / path.name])
def test_a_model_is_found_by_its_path(model, give):
    assert read_model(give(model)).name == "tiny"


def test_a_model_is_found_by_relative_paths_and_names(model, monkeypatch):
    monkeypatch.chdir(model.parent)
    for given_as in ("./tiny", Path("tiny")):
        assert read_model(given_as, folder="elsewhere").card == CARD
    assert read_model(Path("tiny"), folder=model.parent).card == CARD
    monkeypatch.chdir(model)
    assert read_model(".").name == read_model(Path()).name == "tiny"


def test_the_models_folder_is_beside_the_package_or_in_the_environment(model, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    assert store.models_folder() == Path(store.__file__).parent.parent / "models"
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(model.parent))
    assert store.models_folder() == model.parent
    assert read_model("tiny").card == CARD
    assert [summary.name for summary in list_models()] == ["tiny"]


def test_the_list_is_sorted_and_leaves_out_files_and_hidden_folders(tmp_path):
    for name in ("second", "first"):
        write(tmp_path, name)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("models")
    size = sum(file.stat().st_size for file in (tmp_path / "first").iterdir())
    assert list_models(tmp_path) == [
        store.ModelSummary(name, CONFIG, CARD, size, None) for name in ("first", "second")
    ]


def test_a_missing_models_folder_holds_no_models(tmp_path):
    assert list_models(tmp_path / "none") == []


def test_a_models_folder_that_cannot_be_listed_is_named(model):
    place = model / "card.json"
    with refused(f"{place} cannot be listed: Not a directory. Check that you may read it."):
        list_models(place)


def test_a_broken_model_is_listed_with_its_problem(tmp_path):
    write(tmp_path, "good")
    (write(tmp_path, "bad") / "tokenizer.json").unlink()
    (tmp_path / "Upper Case").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "good")
    problems = {summary.name: summary.problem for summary in list_models(tmp_path)}
    assert problems.pop("good") is None
    assert problems.pop("Upper Case").startswith(NAME_RULE)
    assert problems.pop("link") == f"{tmp_path / 'link'} is a link. Give the path of the folder itself."
    assert "Missing: 'tokenizer.json'; unknown: none." in problems.pop("bad")
    assert problems == {}


def test_listing_does_not_read_parameters(model):
    file = model / "parameters.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    assert [summary.problem for summary in list_models(model.parent)] == [None]


def test_an_unknown_name_is_answered_with_the_names_there_are(model):
    write(model.parent, "other")
    sentence = "There is no model {}. Models in that place: {}."
    with refused(sentence.format(model.parent / "tyni", "other, tiny")):
        read_model("tyni", model.parent)
    with refused(sentence.format(model / "tiny", "none")):
        store.stamp("tiny", model)


BAD_NAMES = ["", "..", ".", "CON/..", "con", "lpt1", "a\0b", "\0", "a" * 65, "a" * 300, "Tiny", "-a", "_a"]
BAD_NAMES += ["a b", "a.b", "a\n", "影评", "a/b", "/a", "a\\b", "~", "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_no_name_is_refused(model, name):
    before = sorted(model.parent.rglob("*"))
    shown = store._clean(repr(name))
    with refused(f"{NAME_RULE} Received: {shown}. For a folder give a path: './name'."):
        write(model.parent, name)
    with pytest.raises(ModelError):
        read_model(name, model.parent)
    assert sorted(model.parent.rglob("*")) == before


@given(st.text(max_size=5) | st.text(alphabet="./\\\0aA", max_size=5))
def test_any_text_as_a_name_is_refused_or_unknown(tmp_path_factory, name):
    with pytest.raises(ModelError):
        read_model(name, tmp_path_factory.getbasetemp() / "none")


def test_one_flipped_byte_anywhere_is_named(model):
    rng = random.Random(5)
    for _ in range(200):
        file = model / rng.choice(FILES)
        good = file.read_bytes()
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
        file.write_bytes(bad)
        with pytest.raises(ModelError, match=rf"{file.name}|manifest\.json"):
            read_model(model)
        file.write_bytes(good)
    assert read_model(model).card == CARD


@pytest.mark.parametrize("name", PAYLOAD)
@pytest.mark.parametrize("kept", [0, -1])
def test_a_file_that_is_cut_off_is_named(model, name, kept):
    data = (model / name).read_bytes()
    (model / name).write_bytes(data[:kept])
    sizes = f"it has {len(data[:kept])} bytes; manifest.json says {len(data)}"
    with refused(f"{model / name} is cut off or changed: {sizes}. {AGAIN}"):
        read_model(model)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"{}", b"[" * 9999, b'{"format_version": 0}\n'])
def test_a_manifest_that_is_none_is_refused(model, data):
    (model / "manifest.json").write_bytes(data)
    with refused(f"{model / 'manifest.json'} is damaged: it is not as it was written. {AGAIN}"):
        read_model(model)


def test_a_manifest_that_is_cut_off_is_refused(model):
    manifest = model / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with refused(f"{manifest} is damaged: it is not as it was written. {AGAIN}"):
        read_model(model)


@pytest.mark.parametrize(
    "content",
    [
        {"format_version": 1},
        {"format_version": 1, "files": []},
        {"format_version": 1, "files": {"config.json": 3}},
        {"format_version": 1, "files": {"config.json": {"size": 3}}},
        {"format_version": 1, "files": {}, "more": 3},
    ],
)
def test_a_manifest_of_another_form_is_refused(model, content):
    (model / "manifest.json").write_text(store._dump(content))
    sentence = "must give the size and sha256 of each file, nothing else."
    with refused(f"{model / 'manifest.json'} {sentence} {AGAIN}"):
        read_model(model)


def test_a_newer_manifest_is_told_from_a_damaged_one(model):
    (model / "manifest.json").write_text(store._dump({"format_version": 2, "anything": []}))
    with refused(f"{model / 'manifest.json'} has format version 2, {NEWER}"):
        read_model(model)


def test_a_newer_config_is_told_from_a_damaged_one(model):
    put(model, "config.json", CONFIG.to_json().replace('"format_version": 1', '"format_version": 2'))
    with refused(f"{model / 'config.json'} cannot be used: config.json has format version 2, {NEWER}"):
        read_model(model)


def test_missing_and_extra_files_are_named(model):
    def sentence(place, missing, unknown):
        found = f"Missing: {missing}; unknown: {unknown}. Remove what is unknown."
        return f"{place} must name exactly the files of a model. {found} {AGAIN}"

    (model / "evil.py").write_text("")
    with refused(sentence(model, "none", "'evil.py'")):
        read_model(model)
    (model / "card.json").unlink()
    with refused(sentence(model, "'card.json'", "'evil.py'")):
        read_model(model)
    manifest = model / "manifest.json"
    manifest.write_text(store._dump({"format_version": 1, "files": {}}))
    with refused(sentence(manifest, "'card.json', 'config.json', 'parameters.safetensors', ...", "none")):
        read_model(model)
    manifest.unlink()
    with refused(
        f"{model / 'manifest.json'} is missing: the folder is no model, or not a whole one. {AGAIN}"
    ):
        read_model(model)


def test_what_a_file_manager_leaves_behind_does_no_harm(model):
    (model / ".DS_Store").write_bytes(b"\0")
    assert read_model(model).card == CARD
    write(model.parent, overwrite=True)
    assert sorted(file.name for file in model.iterdir()) == FILES


@pytest.mark.parametrize("name", FILES)
def test_links_folders_and_pipes_in_place_of_a_file_are_refused(model, name):
    file, elsewhere = model / name, model.parent / "elsewhere"
    file.rename(elsewhere)
    sentence = f"{file} must be a plain file; a link or a folder is not read. {AGAIN}"
    for make in (lambda: file.symlink_to(elsewhere), file.mkdir, lambda: os.mkfifo(file)):
        make()
        with refused(sentence):
            read_model(model)
        file.rmdir() if file.is_dir() else file.unlink()
    elsewhere.rename(file)
    assert read_model(model).card == CARD


def test_a_link_in_place_of_the_folder_is_refused(model):
    link = model.parent / "link"
    link.symlink_to(model)
    with refused(f"{link} is a link. Give the path of the folder itself."):
        read_model("link", model.parent)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_gigabytes_is_refused_unread(model, name):
    os.truncate(model / name, 4 * 10**9)
    with refused(
        f"{model / name} has 4,000,000,000 bytes, more than the {store.LARGEST[name]:,} that are read. "
        "Choose a smaller model."
    ):
        read_model(model)


def test_a_file_that_cannot_be_read_is_named(model, monkeypatch):
    def denied(path):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with refused(f"{model / 'manifest.json'} cannot be read: Permission denied. Check that you may read it."):
        read_model(model)


@pytest.mark.parametrize("name", ["card.json", "config.json", "tokenizer.json"])
def test_text_that_is_not_utf8_is_refused(model, name):
    put(model, name, b'"\xff"')
    with refused_with(f"{model / name} is not UTF-8 text: 'utf-8' codec can't decode byte 0xff"):
        read_model(model)


@pytest.mark.parametrize("name", ["card.json", "tokenizer.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_text_that_is_no_json_object_is_refused(model, name, text):
    put(model, name, text)
    with refused(f"{model / name} must hold one JSON object. {AGAIN}"):
        read_model(model)


def config_text(**changes):
    return json.dumps({**json.loads(CONFIG.to_json()), **changes})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "config.json is not JSON: maximum recursion depth exceeded"),
        ("[]", "config.json must hold one JSON object."),
        (config_text(num_heads="3"), "`num_heads` must be a whole number. Received: '3'."),
        (config_text(dropout=10**400), "int too large to convert to float"),
        (config_text(norm="\x1b[2J\ud800\n"), "`norm` must be one of 'none', 'post', 'pre'."),
        (config_text(**{"\x1b\ud800\n": 1}), "Missing: none; unknown: '   '."),
        (config_text(labels="x" * 9999), "`labels` must be a list"),
    ],
    ids=lambda text: text[:20],
)
def test_a_config_that_is_none_is_refused_in_one_printable_line(model, text, problem):
    put(model, "config.json", text)
    with pytest.raises(ModelError) as error:
        read_model(model)
    assert f"{model / 'config.json'} cannot be used: {problem}" in str(error.value).replace(
        "config.json must have exactly the fields of a config. ", ""
    )
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    "sizes",
    [{"num_layers": 10**9}, {"vocab_size": 10**9}, {"ffn_dim": 10**4000}, {"num_layers": 257}],
    ids=str.__call__,
)
def test_a_config_that_lies_about_its_sizes_costs_nothing(model, sizes):
    put(model, "config.json", config_text(**sizes))
    sentence = (
        f"{model / 'config.json'} describes too large a model. Choose at most 256 layers and 200,000,000 "
        "parameters."
    )
    start = time.perf_counter()
    with refused(sentence):
        read_model(model)
    assert [summary.problem for summary in list_models(model.parent)] == [sentence]
    assert time.perf_counter() - start < 1


def test_a_model_too_large_to_read_is_not_written(tmp_path):
    with refused_with("config.json describes too large a model."):
        write(tmp_path, config=CONFIG.replace(num_layers=257))
    with refused_with("card.json has", "bytes, more than the 4,194,304 that are read."):
        write(tmp_path, card={"text": "x" * 2**22})
    assert list(tmp_path.iterdir()) == []


def test_another_vocabulary_is_refused(model):
    def text(vocab, **content):
        return json.dumps({"model": {"vocab": vocab}, **content})

    def sentence(count):
        return (
            f"{model / 'tokenizer.json'} must number its tokens from 0 to 10: its config has `vocab_size` = "
            f"11. Received {count} numbers. {MATCH}"
        )

    fewer = {word: token_id for word, token_id in WORDS.items() if token_id < 10}
    unfit = {
        10: (text(fewer), text([["a", 0.0]] * 10), text(fewer, added_tokens=[])),
        11: (text({**fewer, "word10": 11}), text({**fewer, "word10": True}), text({**fewer, "word10": [10]})),
        12: (text({**WORDS, "word11": 11}), text({**fewer, "word10": 9, "word11": 9})),
    }
    for count, tokenizers in unfit.items():
        for tokenizer in tokenizers:
            put(model, "tokenizer.json", tokenizer)
            with refused(sentence(count)):
                read_model(model)
            with refused(sentence(count)):
                write(model.parent, tokenizer=tokenizer, overwrite=True)
    for tokenizer in (
        text(fewer, added_tokens=[{"id": 10, "content": "word10"}]),
        text(WORDS, added_tokens=[{"id": 0, "content": "[PAD]"}]),
        text([["a", 0.0]] * 11),
        "{}",
        '{"model": {"type": "other"}}',
    ):
        put(model, "tokenizer.json", tokenizer)
        assert read_model(model).tokenizer == tokenizer


@pytest.mark.parametrize(
    "text",
    ['{"model": {"vocab": 3}}', '{"model": {"vocab": {}}, "added_tokens": [{}]}'],
    ids=["vocab", "added"],
)
def test_a_tokenizer_of_another_format_is_refused(model, text):
    put(model, "tokenizer.json", text)
    sentence = f"is not in the format of the `tokenizers` library. {AGAIN}"
    with refused(f"{model / 'tokenizer.json'} {sentence}"):
        read_model(model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_parameters_that_are_not_finite_are_refused(model, value):
    bad = {**parameters(), "classifier/bias": np.array([0, value], np.float32)}
    sentence = (
        f"{model / 'parameters.safetensors'}: `classifier/bias` must hold finite floats. If its training "
        "diverged, train again with a lower learning rate."
    )
    with refused(sentence):
        write(model.parent, parameters=bad, overwrite=True)
    assert read_model(model).card == CARD
    put(model, "parameters.safetensors", save(bad))
    with refused(sentence):
        read_model(model)


@pytest.mark.parametrize("array", [np.array([1, 2]), np.array(["1", "2"]), np.array([None, 1.0])])
def test_parameters_that_are_no_floats_are_not_written(tmp_path, array):
    with refused_with("`classifier/bias` must hold finite floats."):
        write(tmp_path, parameters={**parameters(), "classifier/bias": array})


def test_numbers_beyond_float16_are_written_as_float32(tmp_path):
    large = {**parameters(), "classifier/bias": np.array([0, 7e4], np.float32)}
    with refused(
        f"{tmp_path / 'tiny' / 'parameters.safetensors'}: `classifier/bias` holds numbers beyond 65504, the "
        "largest float16. Write it with `dtype` = 'float32', or train again with a lower learning rate."
    ):
        write(tmp_path, parameters=large, dtype="float16")
    assert read_model(write(tmp_path, parameters=large)).parameters["classifier/bias"][1] == 7e4


def test_only_two_dtypes_are_written(tmp_path):
    with refused("`dtype` must be 'float16' or 'float32'. Received: 'int8'."):
        write(tmp_path, dtype="int8")


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_only_two_dtypes_are_read(model, dtype):
    put(
        model,
        "parameters.safetensors",
        save({**parameters(), "classifier/bias": np.zeros(2, dtype)}),
    )
    name = {np.float64: "F64", np.int32: "I32"}[dtype]
    with refused(
        f"{model / 'parameters.safetensors'}: `classifier/bias` must be F16 or F32, not {name}. {AGAIN}"
    ):
        read_model(model)


def without(name):
    return {key: array for key, array in parameters().items() if key != name}


UNFIT = {
    f"'{EMBEDDING}'. Shape of the first: (6, 11); expected: (11, 6).": {
        **parameters(),
        EMBEDDING: np.zeros((6, 11), np.float32),
    },
    f"'{EMBEDDING}'. Shape of the first: none; expected: (11, 6).": without(EMBEDDING),
    "'extra'. Shape of the first: (3,); expected: none.": {**parameters(), "extra": np.zeros(3, np.float32)},
}


@pytest.mark.parametrize(("problem", "arrays"), UNFIT.items(), ids=["turned", "missing", "extra"])
def test_parameters_of_another_config_are_refused_unread(model, monkeypatch, problem, arrays):
    sentence = f"{model / 'parameters.safetensors'} does not fit its config: {problem} {MATCH}"
    with refused(sentence):
        write(model.parent, parameters=arrays, overwrite=True)
    put(model, "parameters.safetensors", save(arrays))
    monkeypatch.setattr(store, "safe_open", HeaderOnly)
    with refused(sentence):
        read_model(model)


class HeaderOnly:
    """`safe_open` that lets nobody read data."""

    def __init__(self, *args, **kwargs):
        self.file = safe_open(*args, **kwargs)

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *args):
        return self.file.__exit__(*args)

    def keys(self):
        return self.file.keys()

    def get_slice(self, name):
        return self.file.get_slice(name)


safe_open = store.safe_open


def bomb(shape, end):
    """Return a file that declares much and holds little."""
    header = json.dumps({EMBEDDING: {"dtype": "F32", "shape": shape, "data_offsets": [0, end]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(24)


BOMBS = {
    "shape": bomb([10**9, 10**9], 24),
    "offsets": bomb([10**9], 4 * 10**9),
    "overflow": bomb([2**63, 2**63], 0),
    "header": struct.pack("<Q", 2**62) + b"{}",
    "text": b"\x05\0\0\0\0\0\0\0{\xff\xff\xff}",
    "deep": struct.pack("<Q", 10**5) + b"[" * 10**5,
    "zip": b"PK\3\4" + bytes(99),
    "empty": b"",
}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS.keys())
def test_a_file_of_parameters_that_declares_more_than_it_holds_is_refused(model, data):
    put(model, "parameters.safetensors", data)
    with refused_with(f"{model / 'parameters.safetensors'} cannot be read: ", AGAIN):
        read_model(model)


def test_too_little_memory_is_a_sentence(model, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(store, "safe_open", full)
    with refused(f"{model / 'parameters.safetensors'} cannot be read: MemoryError. {AGAIN}"):
        read_model(model)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ALMOST = {
    "config.json": st.builds(
        lambda field, value: config_text(**{field: value}),
        st.sampled_from(list(json.loads(CONFIG.to_json()))),
        JSON,
    ),
    "tokenizer.json": st.builds(
        lambda model, added: json.dumps({"model": model, "added_tokens": added}),
        JSON | st.builds(lambda vocab: {"vocab": vocab}, JSON),
        JSON,
    ),
    "manifest.json": st.builds(lambda files: store._dump({"format_version": 1, "files": files}), JSON),
}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    return write(tmp_path_factory.mktemp("any"))


@pytest.mark.parametrize("name", FILES)
def test_any_bytes_are_read_or_refused_and_nothing_else(sandbox, name):
    @settings(max_examples=50, deadline=None)
    @given(st.binary() | JSON.map(json.dumps) | ALMOST.get(name, st.nothing()))
    def law(data):
        put(sandbox, name, data) if name in PAYLOAD else (sandbox / name).write_bytes(
            data if isinstance(data, bytes) else data.encode()
        )
        with contextlib.suppress(ModelError):
            read_model(sandbox)
        for summary in list_models(sandbox.parent):
            assert summary.problem is None or summary.problem.isprintable()

    good = (sandbox / name).read_bytes()
    law()
    (sandbox / name).write_bytes(good)
    sign(sandbox)
    assert read_model(sandbox).card == CARD


def test_any_change_to_the_header_of_the_parameters_is_read_or_refused(sandbox):
    good, rng, refusals = (sandbox / "parameters.safetensors").read_bytes(), random.Random(3), 0
    header = 8 + struct.unpack("<Q", good[:8])[0]
    for _ in range(500):
        bad = bytearray(good)
        for _ in range(rng.choice((1, 1, 3))):
            bad[rng.randrange(header)] = rng.choice((rng.randrange(256), ord("9"), ord("-"), ord(" ")))
        put(sandbox, "parameters.safetensors", bytes(bad))
        try:
            read_model(sandbox)
        except ModelError:
            refusals += 1
    put(sandbox, "parameters.safetensors", good)
    assert refusals > 400


def test_a_name_that_is_taken_is_refused_unless_told(model):
    with refused(f"{model} exists already. Choose another name, or allow it to be overwritten."):
        write_version(model.parent, 2)
    assert read_model(model).card == CARD
    write_version(model.parent, 2, overwrite=True)
    assert version_of(read_model(model)) == 2


def test_what_is_no_model_is_never_overwritten(model):
    (model / "thesis.txt").write_text("years of work")
    with refused(
        f"{model} holds more than a model and is not overwritten: 'thesis.txt'. "
        "Move that away, or choose another name."
    ):
        write(model.parent, overwrite=True)
    for name, make in {
        "file": lambda path: path.write_text(""),
        "link": lambda path: path.symlink_to(model),
        "lost": lambda path: path.symlink_to("nowhere"),
    }.items():
        place = model.parent / name
        make(place)
        with refused(f"{place} is a file or a link, not a folder. Remove it, or choose another name."):
            write(model.parent, name, overwrite=True)
    assert (model / "thesis.txt").read_text() == "years of work"


def test_a_damaged_model_can_be_overwritten(model):
    (model / "config.json").write_text("")
    (model / "manifest.json").unlink()
    write_version(model.parent, 2, overwrite=True)
    assert version_of(read_model(model)) == 2


@pytest.mark.parametrize("card", [{"set": {1}}, {"\ud800": ()}, [], None])
def test_a_card_that_json_cannot_hold_is_refused(tmp_path, card):
    if card == {"\ud800": ()}:
        assert read_model(write(tmp_path, card=card)).card == {"\ud800": []}
        return
    place = tmp_path / "tiny"
    with refused(
        f"{place} cannot be written as JSON: Object of type set is not JSON serializable. Correct the card."
        if card
        else f"{place / 'card.json'} must hold one JSON object. {AGAIN}"
    ):
        write(tmp_path, card=card)


def test_a_card_without_end_is_refused(tmp_path):
    card = {}
    card["card"] = card
    with refused(
        f"{tmp_path / 'tiny'} cannot be written as JSON: Circular reference detected. Correct the card."
    ):
        write(tmp_path, card=card)


def test_check_writable_says_beforehand_what_writing_would_say(model):
    with refused_with(f"{model} exists already."):
        store.check_writable("tiny", folder=model.parent)
    below = model / "card.json" / "models"
    with refused(f"{below / 'new'} cannot be written: Not a directory. {UNCHANGED}"):
        store.check_writable("new", folder=below)
    store.check_writable("tiny", folder=model.parent, overwrite=True)
    store.check_writable("new", folder=model.parent / "a" / "b")
    assert list((model.parent / "a" / "b").iterdir()) == leftovers(model.parent) == []


def test_a_full_disk_is_seen_before_anything_is_written(model, monkeypatch):
    needed = 2 * sum(file.stat().st_size for file in model.iterdir())
    usage = shutil.disk_usage(model)._replace(free=needed - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    mb = f"{needed / 1e6:.1f} MB"
    with refused(
        f"{model} needs {mb} while it is written, and {mb} are free. Make space, or choose another folder."
    ):
        write(model.parent, overwrite=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=needed))
    write(model.parent, overwrite=True)


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_disk_that_fills_up_while_writing_leaves_the_old_model(tmp_path):
    import resource

    path = write_version(tmp_path, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with refused_with(f"{path} cannot be written: File too large."):
            write_version(tmp_path, 2, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert version_of(read_model(path)) == 1
    assert leftovers(tmp_path) == []


class Killed(BaseException):
    """Nothing catches it and, like a killed process, nothing tidies up after it."""


class Faults:
    """Lets the `first` of the calls that change a disk fail; all later ones too, if `lasting`."""

    def __init__(self, monkeypatch, first, error, lasting):
        self.calls = 0
        for name in ("fsync", "rename", "replace", "mkdir"):
            monkeypatch.setattr(os, name, self.wrapped(getattr(os, name), first, error, lasting))
        if lasting:
            monkeypatch.setattr(shutil, "rmtree", lambda *args, **kwargs: None)

    def wrapped(self, function, first, error, lasting):
        def call(*args, **kwargs):
            self.calls += 1
            if self.calls == first or (lasting and self.calls > first):
                raise error
            return function(*args, **kwargs)

        return call


def writes_that_fail(monkeypatch, folder, error, lasting=False):
    """Write version 2 and let each call fail in its turn; yield the error, or None if it did no harm."""
    for first in itertools.count(1):
        caught = None
        with monkeypatch.context() as patch:
            faults = Faults(patch, first, error, lasting)
            try:
                write_version(folder, 2, overwrite=True)
            except (ModelError, Killed) as problem:
                caught = problem
        if faults.calls < first:
            assert caught is None
            assert first > 10
            return
        yield caught


def disk_error(code):
    return OSError(code, os.strerror(code))


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_whichever_call_fails_the_old_model_is_left_or_the_new_one_written(tmp_path, monkeypatch, code):
    path, failures = write_version(tmp_path, 1), 0
    for error in writes_that_fail(monkeypatch, tmp_path, disk_error(code)):
        if error:
            failures += 1
            assert str(error) == f"{path} cannot be written: {os.strerror(code)}. {UNCHANGED}"
            assert leftovers(tmp_path) == []
        assert version_of(read_model(path)) == (1 if error else 2)
        write_version(tmp_path, 1, overwrite=True)
        assert leftovers(tmp_path) == []
    assert failures >= 10
    assert version_of(read_model(path)) == 2


def test_whichever_call_fails_a_first_model_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    for error in writes_that_fail(monkeypatch, tmp_path, disk_error(errno.EIO)):
        if error:
            assert list(tmp_path.iterdir()) == []
        else:
            assert version_of(read_model("tiny", tmp_path)) == 2
            shutil.rmtree(tmp_path / "tiny")
    assert version_of(read_model("tiny", tmp_path)) == 2


@pytest.mark.parametrize("error", [disk_error(errno.EIO), Killed()], ids=["broken disk", "killed"])
def test_a_write_that_ends_at_any_call_leaves_the_old_model_or_the_new_one(tmp_path, monkeypatch, error):
    path, between_renames = write_version(tmp_path, 1), 0
    for _ in writes_that_fail(monkeypatch, tmp_path, error, lasting=True):
        between_renames += not path.exists()
        assert version_of(read_model(path)) in (1, 2)
        assert [summary.problem for summary in list_models(tmp_path)] == [None]
        write_version(tmp_path, 1, overwrite=True)
        mine = f".tmp-tiny-{os.getpid()}-"
        assert [name for name in leftovers(tmp_path) if not name.startswith(mine)] == []
    assert between_renames == 1


def test_everything_is_flushed_before_it_takes_its_place(tmp_path, monkeypatch):
    calls, flush, rename = [], os.fsync, os.rename

    def fsync(handle):
        calls.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        flush(handle)

    def renamed(source, target):
        calls.append(f"{Path(source).name} becomes {Path(target).name}")
        rename(source, target)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc")
    path = write(tmp_path)
    monkeypatch.setattr(store.secrets, "token_hex", lambda size: "0" * 16)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", renamed)
    write(tmp_path, overwrite=True)
    temporary = f".tmp-tiny-{os.getpid()}-{'0' * 16}"
    assert sorted(calls[:4]) == PAYLOAD
    assert calls[4:] == [
        "manifest.json",
        temporary,
        "tiny becomes .old-tiny",
        f"{temporary} becomes tiny",
        path.parent.name,
        f".old-tiny becomes {temporary}",
    ]


def test_a_model_left_between_two_renames_is_found_and_the_next_write_tidies_up(tmp_path):
    path = write_version(tmp_path, 1)
    path.rename(tmp_path / ".old-tiny")
    assert [(summary.name, summary.problem) for summary in list_models(tmp_path)] == [("tiny", None)]
    assert list_models(tmp_path)[0].size > 0
    for read in (read_model("tiny", tmp_path), read_model(path)):
        assert (read.name, version_of(read)) == ("tiny", 1)
    with refused_with(f"{path} exists already."):
        write_version(tmp_path, 2)
    write_version(tmp_path, 2, overwrite=True)
    assert (version_of(read_model(path)), leftovers(tmp_path)) == (2, [])


def test_an_old_folder_beside_the_new_one_is_ignored_and_tidied_up(tmp_path):
    write_version(tmp_path, 1).rename(tmp_path / ".old-tiny")
    shutil.copytree(tmp_path / ".old-tiny", tmp_path / "tiny")
    path = write_version(tmp_path, 2, overwrite=True)
    assert (version_of(read_model(path)), leftovers(tmp_path)) == (2, [])


def test_only_what_killed_writers_left_is_swept(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    random_part = "0" * 16
    gone = [f".tmp-tiny-{pid}-{random_part}" for pid in (dead.pid, 10**19)]
    kept = [f".tmp-tiny-{os.getppid()}-{random_part}", ".tmp-mine", f".tmp-tiny-{dead.pid}-notes"]
    kept.append(f"{gone[0]}-backup")
    for name in gone + kept:
        (tmp_path / name / "inner").mkdir(parents=True)
    write(tmp_path, "another")
    assert sorted(leftovers(tmp_path)) == sorted(kept)


def test_a_writer_of_another_user_is_alive(tmp_path, monkeypatch):
    def forbidden(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert store._is_alive(1, tmp_path)


def test_on_windows_no_process_is_signalled_and_no_folder_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    for name in ("kill", "open"):
        monkeypatch.setattr(os, name, None)
    store._sync_folder(tmp_path)
    assert store._is_alive(1, tmp_path)
    os.utime(tmp_path, (0, 0))
    assert not store._is_alive(1, tmp_path)


def test_a_share_that_cannot_flush_folders_can_be_written(tmp_path, monkeypatch):
    flush = os.fsync

    def no_folders(handle):
        if store.stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(handle)

    monkeypatch.setattr(os, "fsync", no_folders)
    assert read_model(write(tmp_path)).card == CARD


def test_every_write_has_another_stamp(model):
    stamps = [store.stamp("tiny", model.parent), store.stamp(model)]
    assert stamps[0] == stamps[1]
    write(model.parent, overwrite=True)
    assert store.stamp(model) != stamps[0]


def test_reading_while_another_writes_gives_one_version_whole(tmp_path):
    path, stop = write_version(tmp_path, 1), threading.Event()

    def keep_writing():
        for version in itertools.count(2):
            if stop.is_set():
                return
            write_version(tmp_path, version, overwrite=True)

    writer, seen, problems = threading.Thread(target=keep_writing), [], set()
    writer.start()
    try:
        end = time.monotonic() + 60
        while len(set(seen)) < 20 and time.monotonic() < end:
            seen.append(version_of(read_model(path)))
            problems |= {summary.problem for summary in list_models(tmp_path)}
    finally:
        stop.set()
        writer.join()
    assert seen == sorted(seen)
    assert len(set(seen)) == 20
    assert problems == {None}


def test_reading_what_never_settles_ends(model, monkeypatch):
    count = itertools.count()
    monkeypatch.setattr(store, "_identity", lambda folder: next(count))
    with refused(f"{model} is being written over and over. Try again when that has ended."):
        read_model(model)


WRITER = """
import itertools, json, sys
from pathlib import Path
import numpy as np
from transformer_viz.config import TransformerConfig
from transformer_viz.store import write_model

folder, first, config, tokenizer = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
config = TransformerConfig.from_json(config)
for version in itertools.count(first):
    filled = {name: np.full(shape, version, np.float32) for name, shape in config.parameter_shapes().items()}
    print(version, flush=True)
    write_model("tiny", config=config, tokenizer=tokenizer, card={"version": version}, parameters=filled,
                folder=folder, dtype="float32", overwrite=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_writer_killed_at_any_moment_leaves_the_old_model_or_the_new_one(tmp_path):
    rng, version = random.Random(11), 1
    for _ in range(20):
        arguments = [str(tmp_path), str(version), CONFIG.to_json(), TOKENIZER]
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True
        ) as writer:
            for _ in range(2):
                assert writer.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            last = int([str(version + 1), *writer.stdout.read().split()][-1])
        assert writer.returncode == -signal.SIGKILL
        version = version_of(read_model("tiny", tmp_path))
        assert version in (last - 1, last)
        assert [summary.problem for summary in list_models(tmp_path)] == [None]
    write_version(tmp_path, 0, overwrite=True)
    assert leftovers(tmp_path) == []
    assert version_of(read_model("tiny", tmp_path)) == 0


def test_what_is_written_is_plain_safetensors(model):
    assert load_file(model / "parameters.safetensors").keys() == CONFIG.parameter_shapes().keys()


def test_the_module_needs_neither_keras_nor_pickle():
    source = Path(store.__file__).read_text(encoding="utf-8")
    assert not any(word in source for word in ("keras", "tensorflow", "pickle", "eval("))
