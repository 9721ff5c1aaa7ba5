import contextlib
import errno
import itertools
import json
import os
import random
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_folders import (
    AGAIN,
    CARD,
    CONFIG,
    EMBEDDING,
    FILES,
    NAME_RULE,
    NEWER,
    PAYLOAD,
    config_text,
    parameters,
    put,
    refused,
    refused_with,
    sign,
    version_of,
    write,
    write_version,
)
from safetensors.numpy import save

from transformer_viz import store
from transformer_viz.store import ModelError, list_models, read_model


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
    assert store.models_folder() == Path(store.__file__).parents[2] / "models"
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
        store.ModelSummary(name, CONFIG, CARD, size, None, tmp_path / name) for name in ("first", "second")
    ]


def test_a_missing_models_folder_holds_no_models(tmp_path):
    assert list_models(tmp_path / "none") == []


def test_the_name_of_a_model_that_left_the_shelf_opens_the_one_in_its_place_unless_it_is_there(tmp_path):
    write(tmp_path, "reviews-zh")
    assert store.stamp("hotel-zh", tmp_path) == store.stamp("reviews-zh", tmp_path)
    (tmp_path / "reviews-zh").rename(tmp_path / "hotel-zh")
    assert read_model("hotel-zh", tmp_path).card == CARD
    with pytest.raises(store.ModelError, match="reviews-zh"):
        read_model("reviews-zh", tmp_path)


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
    (model / "manifest.json").write_text(store.format.dump(content))
    sentence = "must give the size and sha256 of each file, nothing else."
    with refused(f"{model / 'manifest.json'} {sentence} {AGAIN}"):
        read_model(model)


def test_a_newer_manifest_is_told_from_a_damaged_one(model):
    (model / "manifest.json").write_text(store.format.dump({"format_version": 3, "anything": []}))
    with refused(f"{model / 'manifest.json'} has format version 3, {NEWER}"):
        read_model(model)


def test_missing_and_extra_files_are_named(model):
    def sentence(place, missing, unknown):
        found = f"Missing: {missing}; unknown: {unknown}. Remove the unknown files."
        return f"{place} must name exactly the files of a model. {found} {AGAIN}"

    (model / "evil.py").write_text("")
    with refused(sentence(model, "none", "'evil.py'")):
        read_model(model)
    (model / "card.json").unlink()
    with refused(sentence(model, "'card.json'", "'evil.py'")):
        read_model(model)
    manifest = model / "manifest.json"
    manifest.write_text(store.format.dump({"format_version": 1, "files": {}}))
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
        f"{model / name} has 4,000,000,000 bytes, more than the {store.format.LARGEST[name]:,} that are "
        "read. Choose a smaller model."
    ):
        read_model(model)


def test_a_file_that_cannot_be_read_is_named(model, monkeypatch):
    def denied(path):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with refused(f"{model / 'manifest.json'} cannot be read: Permission denied. Check that you may read it."):
        read_model(model)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_other_dtypes_are_not_read(model, dtype):
    put(
        model,
        "parameters.safetensors",
        save({**parameters(), "classifier/bias": np.zeros(2, dtype)}),
    )
    name = {np.float64: "F64", np.int32: "I32"}[dtype]
    sentence = f"`classifier/bias` has the type {name}; here it can be F16, F32. {AGAIN}"
    with refused(f"{model / 'parameters.safetensors'}: {sentence}"):
        read_model(model)


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

    monkeypatch.setattr(store.read, "safe_open", full)
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
    "manifest.json": st.builds(lambda files: store.format.dump({"format_version": 1, "files": files}), JSON),
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
    monkeypatch.setattr(store.read, "_identity", lambda folder: next(count))
    with refused(f"{model} is being written over and over. Try again when that has ended."):
        read_model(model)
