import errno
import itertools
import os
import random
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from model_folders import (
    AGAIN,
    CARD,
    CONFIG,
    EMBEDDING,
    FILES,
    PAYLOAD,
    TOKENIZER,
    UNCHANGED,
    leftovers,
    parameters,
    refused,
    refused_with,
    version_of,
    write,
    write_version,
)
from safetensors.numpy import load_file

from transformer_viz import store
from transformer_viz.store import ModelError, list_models, read_model


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


def test_a_model_too_large_to_read_is_not_written(tmp_path):
    with refused_with("config.json cannot be used: `num_layers` = 257 is too large."):
        write(tmp_path, config=CONFIG.replace(num_layers=257))
    with refused_with("tokenizer.json has", "bytes, more than the 33,554,432 that are read."):
        write(tmp_path, tokenizer='{"version": "' + "x" * 2**25 + '"}')
    assert list(tmp_path.iterdir()) == []


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


def test_other_dtypes_are_not_written(tmp_path):
    with refused("`dtype` must be one of float32, float16, int8. Received: 'int4'."):
        write(tmp_path, dtype="int4")


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
    assert leftovers(model.parent) == []
    assert not (model.parent / "a").exists()


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
        mine = f".tmp-{os.getpid()}-"
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
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 16)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", renamed)
    write(tmp_path, overwrite=True)
    temporary = f".tmp-{os.getpid()}-{'0' * 16}"
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


def test_a_share_that_cannot_flush_folders_can_be_written(tmp_path, monkeypatch):
    flush = os.fsync

    def no_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(handle)

    monkeypatch.setattr(os, "fsync", no_folders)
    assert read_model(write(tmp_path)).card == CARD


WRITER = """
import itertools, json, sys
from pathlib import Path
import numpy as np
from transformer_viz.network.config import TransformerConfig
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
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.thorough)])
def test_a_writer_killed_at_any_moment_leaves_the_old_model_or_the_new_one(tmp_path, kills):
    rng, version = random.Random(11), 1
    for _ in range(kills):
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
