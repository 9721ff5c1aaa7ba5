"""The attention weights of `.keras` files: another process opens them, on the user's word alone."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import saved_by_keras
from running_app import ROOT

import transformer_viz as tv
from transformer_viz.inspection import keras_process
from transformer_viz.inspection.attention_of import NoAttentionError
from transformer_viz.inspection.keras_process import NotTrustedError, OpeningError
from transformer_viz.language import sentence_of

BATCH = np.random.default_rng(3).normal(size=(2, saved_by_keras.LENGTH, saved_by_keras.WIDTH)).astype("f4")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.keras"


@pytest.mark.quick("nested-inputs1", "reads_another-inputs2")
@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (saved_by_keras.functional, {"text": BATCH}),
        (saved_by_keras.nested, BATCH),
        (saved_by_keras.reads_another, [BATCH, 2 * BATCH[:, ::-1]]),
    ],
)
def test_a_file_gives_the_weights_of_its_model_bit_for_bit(make, inputs, file):
    model = make()
    model.save(file)
    found, expected = tv.attention_of(file, inputs, trusted=True), tv.attention_of(model, inputs)
    assert list(found) == list(expected)
    for name, weights in expected.items():
        np.testing.assert_array_equal(found[name], weights, strict=True)


def test_a_file_is_called_with_all_that_is_given_and_lists_what_it_left_out(file):
    saved_by_keras.with_classes().save(file)
    found = tv.attention_of(file, BATCH, training=False, trusted=True)
    assert list(found) == ["first"]
    assert str(found.left_out["classes"]) == (
        "shape (2, 6, 5): it has fewer than four axes, and the last two are no sequences of the inputs"
    )
    with pytest.raises(ValueError, match=r"layer named second\. These were: first \(2, 3, 6, 6\), classes"):
        tv.attention_of(file, BATCH, layers=["second"], trusted=True)


def test_code_in_a_file_is_run_on_the_users_word_alone_and_elsewhere(file, tmp_path):
    trap = tmp_path / "trap"
    saved_by_keras.with_trap(str(trap)).save(file)
    for trusted in (False, None, 1, "yes"):
        with pytest.raises(NotTrustedError) as error:
            tv.attention_of(file, BATCH, trusted=trusted)
    assert str(error.value) == (
        f"{file} was not opened, as opening a file of Keras can run code in it: checks of Keras have been "
        "bypassed (CVE-2025-1550). Its config.json names Functional, saved by Keras "
        f"{error.value.file.keras_version}, with 1 attention layer (first: MultiHeadAttention(num_heads=3, "
        "key_dim=4)); Python code in: own. If you trust whoever made it, say so: "
        f'tv.attention_of("{file}", inputs, trusted=True).'
    )
    assert "没有打开" in sentence_of(error.value, "zh")
    assert [layer.path for layer in error.value.file.layers] == ["first"]
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert not trap.exists()
    assert list(tv.attention_of(str(file), BATCH, trusted=True)) == ["first"]
    assert int(trap.read_text()) != os.getpid()


def test_classes_of_ones_own_are_pointed_to_the_live_model(file):
    saved_by_keras.registered().save(file)
    with pytest.raises(OpeningError) as error:
        tv.attention_of(file, BATCH, trusted=True)
    assert str(error.value) == (
        f"{file} cannot be opened without the code of what is not Keras's own: mine>OwnAttention, "
        "mine>twice, mine>Registered. Where that code is imported, open it with keras.saving.load_model, "
        "and give the model instead of the file: tv.attention_of(model, inputs)."
    )


ENDS = {
    "killed": (lambda x: __import__("os").kill(__import__("os").getpid(), 9), "signal 9"),
    "left": (lambda x: __import__("sys").exit("gone"), "exit status 1 (gone)"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_process_that_dies_is_said_to_have_ended(file, name):
    code, end = ENDS[name]
    saved_by_keras.with_code(code).save(file)
    with pytest.raises(OpeningError) as error:
        tv.attention_of(file, BATCH, trusted=True)
    assert str(error.value) == (
        f"The process that opened {file} gave no weights; it ended with {end}. Try the model where it was "
        "made, or give the model itself: tv.attention_of(model, inputs)."
    )


def test_an_error_of_the_model_is_told(file):
    saved_by_keras.functional().save(file)
    with pytest.raises(OpeningError) as error:
        tv.attention_of(file, {"text": BATCH[:, :4]}, trusted=True)
    sentence = f"The model of {file} could not be called on these inputs: ValueError: "
    assert str(error.value).startswith(sentence)
    assert str(error.value).isprintable()


def test_a_script_without_a_guard_just_works(file, tmp_path):
    saved_by_keras.functional().save(file)
    np.save(tmp_path / "batch.npy", BATCH)
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, transformer_viz as tv\n"
        "print('started')\n"
        "found = tv.attention_of('model.keras', {'text': np.load('batch.npy')}, trusted=True)\n"
        "print({name: weights.shape for name, weights in found.items()})\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout == "started\n{'first': (2, 3, 6, 6), 'second': (2, 2, 6, 6)}\n", ended.stderr


ANSWERS = {
    "nothing": None,
    "no JSON": b"{",
    "a list": b"[1]",
    "names without weights": b'{"names": ["a", "b"]}',
    "no names": b"{}",
    "a failure without a reason": b'{"failed": "open"}',
    "a failure that is no sentence": b'{"failed": "none", "problem": 3}',
    "reasons that are none": b'{"names": [], "left_out": [1]}',
    "too long": b'{"names": []}' + b" " * keras_process.LONGEST_ANSWER,
    "deep": b"[" * 100_000,
}
WRONG = np.ones((2, 3)), np.ones((1, 1, 1, 1), "f8"), np.array([[[[{}]]]], object)


@pytest.mark.parametrize("name", [*ANSWERS, *range(len(WRONG))])
def test_an_answer_that_is_none_is_not_believed(file, name, monkeypatch):
    saved_by_keras.functional().save(file)
    array = np.ones((1, 1, 1, 1), "f4") if name in ANSWERS else WRONG[name]
    content = ANSWERS.get(name, b'{"names": ["a"], "left_out": {}}')

    def run(request, folder):
        np.savez(folder / "weights.npz", array)
        (folder / "messages").write_bytes(b"")
        if content is not None:
            (folder / "answer.json").write_bytes(content)
        return 0

    monkeypatch.setattr(keras_process, "_run", run)
    with pytest.raises(OpeningError, match="gave no weights; it ended with exit status 0"):
        tv.attention_of(file, BATCH, trusted=True)


def test_a_model_without_attention_and_inputs_that_are_none_are_told_as_for_a_live_one(file, monkeypatch):
    def run(request, folder):
        np.savez(folder / "weights.npz")
        (folder / "answer.json").write_text(json.dumps({"names": [], "left_out": {}}))
        return 0

    saved_by_keras.functional().save(file)
    monkeypatch.setattr(keras_process, "_run", run)
    with pytest.raises(NoAttentionError):
        tv.attention_of(file, BATCH, trusted=True)
    with pytest.raises(ValueError, match=r"^`inputs` must be arrays"):
        tv.attention_of(file, object(), trusted=True)
    file.write_bytes(b"\x89HDF")
    with pytest.raises(tv.store.ModelError, match="is an HDF5 file"):
        tv.attention_of(file, BATCH, trusted=True)
