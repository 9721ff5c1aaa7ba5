"""A model from elsewhere is checked and run by a process of its own, and only then put on the shelf."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import hostile_models
import psutil
import pytest
import small_models
from model_folders import AGAIN, CONFIG, leftovers, parameters, read_names, refused, refused_with, write

from transformer_viz import store
from transformer_viz.service import admission
from transformer_viz.service.admission import Limits, UnfitNameError, admit_model
from transformer_viz.store import ModelError, read_model
from transformer_viz.store.pack import unpack_into
from transformer_viz.text.tokenizer import Tokenizer

SECONDS_TO_SEE = 60
"""How long a test waits for something that happens at once unless the machine is very busy."""

WORDS = Tokenizer.train(["one two three"], 5)


@pytest.fixture
def home(tmp_path):
    """Where models are admitted to."""
    return tmp_path / "home"


def packed(folder, name="tiny", **parts):
    """Return the zip of a model that the `tokenizers` library can read."""
    config = parts.pop("config", CONFIG.replace(vocab_size=5))
    made = {"config": config, "tokenizer": WORDS.to_json(), "parameters": parameters(config=config)}
    write(folder, name, **made | parts)
    return store.pack_model(name, folder)


def children():
    """Return the processes that check models; there may be others that other tests have started."""
    return [
        psutil.Process(each.pid) for each in multiprocessing.active_children() if each.name == admission.NAME
    ]


@pytest.mark.parametrize("name", ["explorer", "translator", "writer"])
def test_a_good_model_is_admitted_bit_for_bit(request, tmp_path, home, name):
    explorer = request.getfixturevalue(name)
    small_models.write(explorer, tmp_path / "there")
    stages = []
    data = store.pack_model(explorer.name, tmp_path / "there")
    assert admit_model(data, folder=home, progress=stages.append) == explorer.name
    assert stages == ["load", "unpack", "run"]
    for file in (tmp_path / "there" / explorer.name).iterdir():
        assert (home / explorer.name / file.name).read_bytes() == file.read_bytes()
    assert leftovers(home) == children() == []
    assert store.pack_model(explorer.name, home) == data


def test_a_zip_may_be_given_as_a_path_and_the_model_another_name(tmp_path, home):
    file = tmp_path / "any.bin"
    file.write_bytes(packed(tmp_path / "there"))
    assert admit_model(file, name="guest", folder=home) == "guest"
    assert read_model("guest", home).config.vocab_size == 5
    assert file.exists()


SLOW = CONFIG.replace(vocab_size=5, num_layers=256, max_len=64)
LARGE = CONFIG.replace(vocab_size=5, d_model=16, num_heads=1, max_len=9_000)


def test_a_model_that_takes_too_long_is_refused_and_its_process_ended(tmp_path, home):
    with refused(
        "Running the model on the longest text it reads took more than 4 seconds. Choose a smaller model, or "
        "one that reads shorter texts."
    ):
        admit_model(packed(tmp_path / "there", config=SLOW), folder=home, limits=Limits(seconds=4))
    assert list(home.iterdir()) == children() == []


def test_a_model_that_takes_too_much_memory_is_refused(tmp_path, home):
    with refused(
        "Running the model on the longest text it reads takes more than 0.1 GB of memory. Choose a smaller "
        "model, or one that reads shorter texts."
    ):
        admit_model(packed(tmp_path / "there", config=LARGE), folder=home, limits=Limits(memory=100_000_000))
    assert list(home.iterdir()) == children() == []


def tokenizer_with(**parts):
    return json.dumps(json.loads(WORDS.to_json()) | parts)


THIRTY = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 30}
FOR_EVER = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
HOSTILE = {
    "no positions": (
        {"config": {"max_len": 10**9, "positions": "none"}},
        "`max_len` = 1,000,000,000 is too large.",
    ),
    "absurd": ({"config": {"max_len": 10**18}}, "`max_len` = 1,000,000,000,000,000,000 is too large."),
    "a book": ({"config": {"max_len": 10**6, "vocab_size": 20_000}}, "`max_len` = 1,000,000 is too large."),
    "rules": (
        {"tokenizer": {"normalizer": {"type": "Sequence", "normalizers": [THIRTY] * 8}}},
        "tokenizer.json cannot be used: `content` of its normalizer Replace",
    ),
    "pattern": ({"tokenizer": {"pre_tokenizer": FOR_EVER}}, "tokenizer.json cannot be used: `pattern` of"),
}


@pytest.mark.parametrize(("changes", "problem"), HOSTILE.values(), ids=HOSTILE)
def test_what_once_took_gigabytes_is_refused_in_a_sentence(tmp_path, home, changes, problem):
    parts = hostile_models.Parts.of(packed(tmp_path / "there"))
    parts.change_config(**changes.get("config", {}))
    parts.change_tokenizer(**changes.get("tokenizer", {}))
    with refused_with(problem):
        admit_model(parts.zip(), folder=home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("kind", hostile_models.KINDS)
def test_a_hostile_model_is_refused_in_one_sentence_before_it_is_run(tmp_path, kind):
    parts, place = hostile_models.Parts.of(packed(tmp_path / "there")), tmp_path / "model"
    place.mkdir()
    (tmp_path / "model.zip").write_bytes(hostile_models.KINDS[kind](parts, random.Random(kind)))
    with pytest.raises(ValueError, match=r"^.{20,700}$"):
        read_all(tmp_path / "model.zip", place)


def read_all(packed, place):
    """Unpack and check a model as the other process does before it runs it."""
    unpack_into(packed, place)
    for file in place.glob("tokenizer*.json"):
        Tokenizer.from_json(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "kind",
    [
        "length of a book",
        "numbers that declare more than they hold",
        "rules that multiply",
        "path that leads out",
    ],
)
def test_a_hostile_model_is_refused_by_the_process_that_checks_it_and_nothing_is_left(tmp_path, home, kind):
    data = packed(tmp_path / "there")
    hostile = hostile_models.KINDS[kind](hostile_models.Parts.of(data), random.Random(kind))
    with pytest.raises(ModelError) as error:
        admit_model(hostile, folder=home)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 700
    assert str(home) not in str(error.value) or isinstance(error.value, UnfitNameError)
    assert list(home.iterdir()) == children() == []


@pytest.mark.parametrize("kind", hostile_models.DAMAGED)
def test_a_damaged_model_is_refused_or_admitted_whole(tmp_path, home, kind):
    data = packed(tmp_path / "there")
    damaged = hostile_models.DAMAGED[kind](hostile_models.Parts.of(data), random.Random(kind))
    try:
        admit_model(damaged, name="guest", folder=home)
    except ModelError:
        assert read_names(home) == []
    else:
        assert read_model("guest", home).config == CONFIG.replace(vocab_size=5)
    assert leftovers(home) == children() == []
    assert [model.problem for model in store.list_models(home)] in ([], [None])


def test_many_kinds_are_drawn_the_same_for_the_same_seed(tmp_path):
    data = packed(tmp_path)
    assert len(hostile_models.KINDS | hostile_models.DAMAGED | hostile_models.COSTLY) >= 40
    first, again = (list(hostile_models.drawn(data, seed=3, count=60)) for _ in range(2))
    assert first == again
    assert first != list(hostile_models.drawn(data, seed=4, count=60))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "This is not a zip."),
        (b"\x89HDF\r\n\x1a\n", "This is an HDF5 file"),
        (b"PK\x03\x04 cut off", "The zip is cut off or damaged."),
        (Path("nowhere.zip"), "nowhere.zip cannot be read: No such file"),
    ],
)
def test_what_is_no_packed_model_is_refused_without_a_trace(home, data, problem):
    with refused_with(problem):
        admit_model(data, folder=home)
    assert list(home.iterdir()) == []


def test_a_name_that_is_taken_or_unfit_is_asked_for_before_the_model_has_been_run(tmp_path, home):
    data = packed(tmp_path / "there", config=SLOW)
    write(home, "tiny")
    with pytest.raises(UnfitNameError, match="exists already") as error:  # and not: takes too long
        admit_model(data, folder=home, limits=Limits(seconds=4))
    assert error.value.name == "tiny"
    for name in ("../x", "Tiny", "a\0b", ""):
        with pytest.raises(UnfitNameError, match="A model's name has no spaces"):
            admit_model(data, name=name or "..", folder=home)
    assert read_names(home) == ["tiny"]
    assert leftovers(home) == children() == []


def test_a_name_that_is_taken_meanwhile_is_refused_and_the_other_model_kept(tmp_path, home):
    data = packed(tmp_path / "there")

    def take(stage):
        if stage == "run":
            write(home, "tiny")

    with pytest.raises(UnfitNameError, match="exists already"):
        admit_model(data, folder=home, progress=take)
    assert read_model("tiny", home).config == CONFIG
    assert leftovers(home) == []


def held(folder, stage):
    """Return a model whose check is long in a stage: unpacking waits for the zip, running takes seconds."""
    if stage == "unpack" and hasattr(os, "mkfifo"):
        os.mkfifo(folder / "held.zip")
        return folder / "held.zip"
    return packed(folder / "there", config=SLOW if stage == "run" else CONFIG.replace(vocab_size=5))


@pytest.mark.parametrize("stage", ["unpack", "run"])
def test_a_check_that_is_killed_is_a_sentence(tmp_path, home, stage):
    def kill(begun):
        if begun == stage:
            [child] = children()
            child.kill()

    with refused_with("GB of memory. Choose a smaller model"):
        admit_model(held(tmp_path, stage), folder=home, progress=kill)
    assert list(home.iterdir()) == children() == []


def end_at_once(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_check_that_ends_before_it_has_begun_is_a_sentence(tmp_path, home, monkeypatch):
    monkeypatch.setattr(admission, "_check_here", end_at_once)
    with refused_with("The check of the model ended before its time. Try again."):
        admit_model(packed(tmp_path / "there"), folder=home)
    assert list(home.iterdir()) == children() == []


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize(
    ("stage", "number", "sentence"),
    [
        ("unpack", "SIGKILL", "Reading the model takes more than 1.0 GB of memory. Choose a smaller model."),
        (
            "run",
            "SIGABRT",
            "Running the model on the longest text it reads takes more than 1.0 GB of memory. "
            "Choose a smaller model, or one that reads shorter texts.",
        ),
        (
            "unpack",
            "SIGSEGV",
            "Reading the model ended unexpectedly (signal 11). Try again, or choose another model.",
        ),
        (
            "run",
            "SIGSEGV",
            "Running the model on the longest text it reads ended unexpectedly (signal 11). "
            "Try again, or choose another model.",
        ),
    ],
)
def test_how_a_check_ended_is_said(tmp_path, home, stage, number, sentence):
    def end(begun):
        if begun == stage:
            [child] = children()
            child.send_signal(getattr(signal, number))

    with refused(sentence):
        admit_model(held(tmp_path, stage), folder=home, progress=end)
    assert list(home.iterdir()) == children() == []


@pytest.mark.parametrize(
    ("error", "stage", "sentence"),
    [
        (
            MemoryError(),
            "unpack",
            "Reading the model takes more than 1.0 GB of memory. Choose a smaller model.",
        ),
        (
            MemoryError(),
            "run",
            "Running the model on the longest text it reads takes more than 1.0 GB of memory. Choose a "
            "smaller model, or one that reads shorter texts.",
        ),
        (KeyError("a"), "unpack", f"Reading the model failed (KeyError). {AGAIN}"),
        (KeyError("a"), "run", f"Running the model on the longest text it reads failed (KeyError). {AGAIN}"),
        (ValueError("No good."), "run", "No good."),
    ],
)
def test_what_no_check_foresaw_is_said_of_its_stage(error, stage, sentence):
    assert str(admission._problem_of(error, 10**9, stage)) == sentence


class Left(BaseException):
    """What Streamlit raises in a page whose visitor has gone."""


@pytest.mark.parametrize("stage", ["unpack", "run"])
def test_when_nobody_waits_any_more_the_check_ends(tmp_path, home, stage):
    def leave(begun):
        if begun == stage:
            raise Left

    with pytest.raises(Left):
        admit_model(packed(tmp_path / "there"), folder=home, progress=leave)
    assert list(home.iterdir()) == children() == []


def test_models_are_checked_one_at_a_time(tmp_path, home):
    data, order = packed(tmp_path / "there"), []

    def check(name):
        def note(stage):
            order.append((name, stage))

        admit_model(data, name=name, folder=home, progress=note)

    threads = [threading.Thread(target=check, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worked = [name for name, stage in order if stage != "wait"]
    assert worked in (["a"] * 3 + ["b"] * 3, ["b"] * 3 + ["a"] * 3)
    assert [stage for _, stage in order].count("wait") == 1
    assert read_names(home) == ["a", "b"]


def test_whoever_waits_too_long_is_told(home, monkeypatch):
    monkeypatch.setattr(admission, "PATIENCE", 0)
    with admission._ONE_AT_A_TIME, refused("Other models are being checked. Try again in a few minutes."):
        admit_model(b"", folder=home)


PARENT = """
import sys
from pathlib import Path
from transformer_viz.service.admission import admit_model
admit_model(Path(sys.argv[1]), folder=Path(sys.argv[2]), progress=lambda stage: print(stage, flush=True))
"""


def test_a_check_ends_with_its_parent_and_the_next_one_tidies_up(tmp_path, home):
    (tmp_path / "tiny.zip").write_bytes(packed(tmp_path / "there", config=SLOW))
    command = [sys.executable, "-c", PARENT, str(tmp_path / "tiny.zip"), str(home)]
    root = Path(store.__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as parent:
        while parent.stdout.readline().strip() != "run":
            assert parent.poll() is None
        started = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    _, left = psutil.wait_procs(started, SECONDS_TO_SEE)
    assert started
    assert left == []
    assert any(name.startswith(".tmp-") for name in leftovers(home))
    with refused_with("This is not a zip."):
        admit_model(b"", folder=home)
    assert leftovers(home) == []


def test_the_quota_counts_models_and_not_what_is_being_checked(tmp_path, home):
    data = packed(tmp_path / "there")
    size = sum(file.stat().st_size for file in (tmp_path / "there" / "tiny").iterdir())
    with refused_with("The model needs"):
        admit_model(data, folder=home, quota=len(data) - 1)
    with refused_with("The model needs 0.0 MB"):
        admit_model(data_as_file(tmp_path, data), folder=home, quota=size - 1)
    assert admit_model(data, folder=home, quota=max(size, len(data))) == "tiny"


def data_as_file(folder, data):
    (folder / "model.zip").write_bytes(data)
    return folder / "model.zip"


def test_the_process_that_admits_never_loads_keras(tmp_path, home):
    (tmp_path / "tiny.zip").write_bytes(packed(tmp_path / "there"))
    code = f"{PARENT}\nprint(*sorted({{'keras', 'tensorflow'}} & sys.modules.keys()), 'end')"
    command = [sys.executable, "-c", code, str(tmp_path / "tiny.zip"), str(home)]
    root = Path(store.__file__).parents[2]
    found = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    assert found.stdout.split("\n")[-2].strip() == "end"


def test_a_machine_without_tensorflow_says_so(tmp_path, home):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise ImportError")
    (tmp_path / "tiny.zip").write_bytes(packed(tmp_path / "there"))
    command = [sys.executable, "-c", PARENT, str(tmp_path / "tiny.zip"), str(home)]
    root = Path(store.__file__).parents[2]
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    found = subprocess.run(command, capture_output=True, text=True, env=os.environ | paths, check=False)
    assert found.stderr.strip().endswith(
        "TensorFlow cannot be started to check the model (ImportError). Run "
        "`python -m transformer_viz doctor` to see what is missing."
    )
    assert list(home.iterdir()) == []


def test_how_much_memory_the_asking_process_has_is_no_matter(tmp_path, home):
    (tmp_path / "tiny.zip").write_bytes(packed(tmp_path / "there"))
    code = (
        "import sys; from pathlib import Path\n"
        "from transformer_viz.service.admission import Limits, admit_model\n"
        "memory = bytearray(2_000_000_000); memory[::4096] = bytes(len(memory[::4096]))\n"
        "print(admit_model(Path(sys.argv[1]), folder=Path(sys.argv[2]), limits=Limits(memory=400_000_000)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "tiny.zip"), str(home)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout == "tiny\n", found.stderr[-500:]


def test_it_works_from_any_folder(tmp_path, home, monkeypatch):
    data = packed(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    assert admit_model(data, folder=Path("home")) == "tiny"
    assert read_names(home) == ["tiny"]
