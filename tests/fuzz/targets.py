"""What reads foreign bytes, each as a function of bytes that fails on anything but a sentence.

It returns whether the bytes were accepted. A reader may refuse bytes by an error of its own, or by a
ValueError that this package raises. Any other exception, a result that breaks its own promise, or a call
that does not return is a finding.
"""

import contextlib
import functools
import io
import itertools
import os
import re
import shutil
import tempfile
import traceback
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
from zipping import signed

from transformer_viz import store
from transformer_viz.cli import main as command_line
from transformer_viz.data import preview, read_labelled, read_pairs, read_texts
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.named_masks import named_mask
from transformer_viz.questions.roles.result import HeadRoles, KindRoles
from transformer_viz.questions.roles.rules import ROLES, measures_of
from transformer_viz.text.tokenizer import TOKEN_KINDS, Tokenizer, clean_text
from transformer_viz.text.unicode import visible
from transformer_viz.trace.trace import Trace
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

TEXTS = [
    "A film so warm that I forgave it.",
    "1 2 3, and 4!",
    "这家酒店很好。",
    "naïve café\u0301 👩\u200d🚀",
]

LONG = ("doctor", "predict", "generate", "trace", "evaluate", "roles")
"""Commands that load Keras or work for long, unless the model is not there."""

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Folder for files that are read back immediately: in memory, if there is one."""


def text(data: bytes) -> bool:
    """Cut a text into tokens of every kind; what is shown of it is harmless."""
    typed = data.decode("utf-8", "surrogateescape")  # wrong bytes become lone surrogates
    cleaned = clean_text(typed)
    for tokenizer in _tokenizers():
        found = tokenizer.encode(typed, max_len=50)
        assert len(found.ids) == len(found.tokens) == len(found.offsets) <= 50
        assert all(0 <= begin <= end <= len(cleaned) for begin, end in found.offsets)
        assert all(0 <= i < tokenizer.vocab_size for i in found.ids)
        tokenizer.decode(found.ids)
        assert all(_is_harmless(visible(token)) for token in found.tokens)
    return True


def table(data: bytes) -> bool:
    """Read a file of rows in every way."""
    accepted = set()
    with _file(data) as path:
        for read in (preview, read_labelled, read_pairs, read_texts):
            with sentences():
                read(path)
                accepted.add(read)
    return preview in accepted and len(accepted) > 1


def config(data: bytes) -> bool:
    """Read a config; one that is accepted survives being written."""
    with sentences():
        found = TransformerConfig.from_json(data.decode("utf-8", "replace"))
        assert TransformerConfig.from_json(found.to_json()) == found
        found.parameter_shapes()
        return True
    return False


def tokenizer(data: bytes) -> bool:
    """Read a tokenizer; one that is accepted reads any text."""
    with sentences():
        found = Tokenizer.from_json(data.decode("utf-8", "replace"))
        for each in TEXTS:
            found.encode(each, max_len=50)
        return True
    return False


def safetensors(data: bytes) -> bool:
    """Read a model whose parameters are these bytes, their hash being right."""
    folder = _model_folder("safetensors")
    _replace(folder, "parameters.safetensors", data)
    with sentences():
        found = store.read_model(folder)
        assert all(np.isfinite(array).all() for array in found.parameters.values())
        return True
    return False


def card(data: bytes) -> bool:
    """List a model whose card is these bytes."""
    folder = _model_folder("card")
    _replace(folder, "card.json", data)
    (found,) = store.list_models(folder.parent)
    assert found.problem or isinstance(found.card, dict)
    return not found.problem


def head_roles(data: bytes) -> bool:
    """Read what heads usually do; roles that are accepted have names, and survive being written."""
    with sentences():
        found = HeadRoles.from_json(data.decode("utf-8", "replace"))
        assert HeadRoles.from_json(found.to_json()) == found
        assert set(found.to_frame()["role"]) <= set(ROLES)
        return True
    return False


def npz(data: bytes) -> bool:
    """Read a saved trace."""
    with _file(data) as path, sentences():
        Trace.load(path)
        return True
    return False


def packed(data: bytes) -> bool:
    """Unpack a model; whatever happens, nothing is left of one that is refused."""
    folder = Path(_scratch()) / "unpacked"
    folder.mkdir(exist_ok=True)
    accepted = False
    with sentences():
        store.unpack_model(data, folder=folder)
        accepted = True
    found = os.listdir(folder)
    shutil.rmtree(folder)
    assert bool(found) == accepted
    return accepted


def events(data: bytes) -> bool:
    """Show a run whose log is these bytes."""
    run = _run("events")
    written = run.path / "written"
    written.write_bytes(data)
    os.replace(written, run.path / "events.jsonl")  # of a log that only grew, the new part is read
    state = run.state()
    assert state.status
    assert state.step >= 0
    return state.step > 0


def job(data: bytes) -> bool:
    """Read what was asked of a run."""
    with sentences():
        found = TrainingJob.from_json(data.decode("utf-8", "replace"))
        assert TrainingJob.from_json(found.to_json()) == found
        return True
    return False


def mask(data: bytes) -> bool:
    """Read the names of masks."""
    pairs = parse_qsl(data.decode("utf-8", "replace")) or [("", "")]
    accepted = []
    for each in itertools.chain(*pairs):
        with sentences():
            found = named_mask(each, 3, np.array([5, 6, 0, 0]))
            assert found.dtype == bool
            assert np.broadcast_shapes(found.shape, (3, 4)) == (3, 4)
            accepted.append(each)
    return len(accepted) == 2 * len(pairs)


def command(data: bytes) -> bool:
    """Give a command line, in a folder of its own; accepted if it is a command, whatever comes of that."""
    words = data.decode("utf-8", "replace").replace("\0", "").split("\n")[:12]
    if words and words[0] in LONG and "missing" not in words:
        return False
    quiet, here = io.StringIO(), Path(_scratch()) / "here"
    here.mkdir(exist_ok=True)
    with contextlib.chdir(here), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            status, accepted = command_line.main(words), True
        except SystemExit as left:
            status, accepted = left.code, False
    assert status in (0, 2)
    return accepted


TARGETS = {
    function.__name__: function
    for function in (
        text,
        table,
        config,
        tokenizer,
        safetensors,
        card,
        head_roles,
        npz,
        packed,
        events,
        job,
        mask,
        command,
    )
}


@contextlib.contextmanager
def sentences():
    """Ignore errors that a person may be shown."""
    try:
        yield
    except ValueError as error:
        last, sentence = traceback.extract_tb(error.__traceback__)[-1], str(error)
        if "transformer_viz" not in last.filename or not sentence.strip() or not sentence.isprintable():
            raise


@functools.cache
def seeds(name: str) -> list[bytes]:
    """Return valid bytes for a target, from which others are made."""
    folder = _model_folder("seeds")
    read = {file.name: file.read_bytes() for file in folder.iterdir()}
    config_json = read["config.json"]
    found = {
        "text": [each.encode() for each in TEXTS],
        "table": [
            b"text,label\n" + b"".join(b'"film %d, good",%d\n' % (i, i % 2) for i in range(8)),
            b'{"text": "a film", "target": "un film"}\n' * 3,
            "text\tlabel\n好 看\t1\n不 好\t0\n".encode() * 2,
        ],
        "config": [config_json, TransformerConfig(architecture="decoder", vocab_size=43).to_json().encode()],
        "tokenizer": [each.to_json().encode() for each in _tokenizers()],
        "safetensors": [
            read["parameters.safetensors"],
            (_model_folder("eight bits", "int8") / "parameters.safetensors").read_bytes(),
        ],
        "card": [read["card.json"]],
        "head_roles": [_head_roles()],
        "npz": [_saved_trace()],
        "packed": [store.pack_model(folder.name, folder.parent)],
        "events": [_log()],
        "job": [_run("seeds").job.to_json().encode()],
        "mask": [b"none=window:3%2Bcausal", b"padding=causal&painted:0f9=window:1"],
        "command": [
            b"train\n--preset\nsingle-block\n--data\nno.csv\n--out\nno/such/place\n--epochs\n2",
            b"predict\n--model\nmissing\n--text\na",
            b"stop\n20260101-000000-x-0000",
            b"models",
        ],
    }
    return found[name]


@contextlib.contextmanager
def _file(data):
    path = Path(_scratch()) / "data"
    path.write_bytes(data)
    yield path


@functools.cache
def _scratch():
    return tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY)


@functools.cache
def _tokenizers():
    return [Tokenizer.train(TEXTS * 3, 60, kind=kind, markers=True) for kind in TOKEN_KINDS]


@functools.cache
def _model_folder(user, dtype="float16"):
    """Write a small model for one user, who may change it; return its folder."""
    small = TransformerConfig(
        vocab_size=_tokenizers()[0].vocab_size, max_len=20, d_model=4, num_heads=2, ffn_dim=4
    )
    random = np.random.default_rng(0)
    parameters = {name: random.normal(size=shape) for name, shape in small.parameter_shapes().items()}
    return store.write_model(
        "small",
        config=small,
        tokenizer=_tokenizers()[0].to_json(),
        card={"task": "classification", "examples": TEXTS, "test": {"accuracy": 0.5, "rows": 10}},
        parameters=parameters,
        folder=Path(_scratch()) / user / "models",
        dtype=dtype,
    )


def _replace(folder, name, data):
    """Put other bytes into a model's file, and make its manifest right for them."""
    (folder / name).write_bytes(data)
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / "manifest.json").write_bytes(signed(files))


@functools.cache
def _run(user):
    """Make a run for one user, who may change it."""
    small = TransformerConfig(vocab_size=43, max_len=20, d_model=4, num_heads=2, ffn_dim=4)
    asked = TrainingJob(config=small, settings=TrainingSettings(epochs=2), data="parity", rows=40)
    return create_run(asked, folder=Path(_scratch()) / user / "runs")


@functools.cache
def _log():
    run = _run("seeds")
    run.append("started", step=0, device="CPU")
    run.append("data", train=36, total_steps=10)
    for step in range(3):
        run.append("step", step=step, loss=1.5, learning_rate=0.1, tokens_per_second=9.5, memory=10)
    run.append("epoch", epoch=1, step=3, best=True, loss=1.0, val_loss=1.1, val_accuracy=0.5, seconds=1.0)
    run.append("samples", step=3, samples=[{"text": "a", "expected": "b", "written": "c"}])
    return (run.path / "events.jsonl").read_bytes()


@functools.cache
def _head_roles():
    words = {"bad": ("dull", "wooden"), "good": ("lovely",)}
    names, random = measures_of("cross", words), np.random.default_rng(5)
    numbers = random.random((4, 2, 3, len(names))).round(3)
    numbers[:, 0, :, 1] = np.nan
    ratios = random.random((2, 2, 3, len(words))).round(3)
    kind = KindRoles(names, *numbers, np.ones(len(names)), np.full(len(names), 7), *ratios)
    return HeadRoles(9, {"cross": kind}, words).to_json().encode()


def _saved_trace():
    """Return the bytes of a small saved trace."""
    from made_traces import encoder_trace

    with _file(b"") as path:
        encoder_trace(["a", "film"], layers=1, heads=2).save(path)
        return path.read_bytes()


def _is_harmless(shown):
    """Return whether a text has nothing invisible but single joiners beside parts of an emoji or a word."""
    joined = re.split("[\u200c\u200d]", shown)
    return all(map(str.isprintable, joined)) and all(joined[1:-1]) and (any(joined) or not shown)
