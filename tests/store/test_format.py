import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_folders import (
    AGAIN,
    CARD,
    CONFIG,
    EMBEDDING,
    MATCH,
    NAME_RULE,
    NEWER,
    WORDS,
    config_text,
    parameters,
    put,
    refused,
    refused_with,
    write,
)
from safetensors.numpy import save

from transformer_viz import store
from transformer_viz.network.config import FORMAT_VERSION
from transformer_viz.store import ModelError, read_model
from transformer_viz.store.names import is_name, name_from

BAD_NAMES = ["", "..", ".", "CON/..", "con", "lpt1", "a\0b", "\0", "a" * 65, "a" * 300, "Tiny", "-a", "_a"]
BAD_NAMES += ["a b", "a.b", "a\n", "影 评", "影评。", "影" * 65, "𠮷" * 49, "É", "e\u0301", "\u0301e"]
BAD_NAMES += ["\u3164", "①", "a\u200d", "☺", "a/b", "/a", "a\\b", "~", "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_no_name_is_refused(model, name):
    before = sorted(model.parent.rglob("*"))
    shown = store.format.printable(repr(name))
    with refused(f"{NAME_RULE} Received: {shown}. For a folder give a path: './name'."):
        write(model.parent, name)
    with pytest.raises(ModelError):
        read_model(name, model.parent)
    assert sorted(model.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["外卖评论", "影" * 64, "รีวิว-2", "हिन्दी", "отзывы_1", "été", "٣"])
def test_a_name_of_any_script_is_kept(tmp_path, name):
    path = write(tmp_path, name)
    assert (path.name, read_model(name, tmp_path).name) == (name, name)
    assert [(found.name, found.problem) for found in store.list_models(tmp_path)] == [(name, None)]
    store.restore_model(store.delete_model(name, tmp_path))
    assert store.unpack_model(store.pack_model(name, tmp_path), folder=tmp_path / "other") == name


@given(st.text(max_size=80), st.integers(1, 40))
def test_a_name_from_any_text_needs_at_most_a_letter_to_be_valid(text, longest):
    name = name_from(text, longest)
    assert len(name) <= longest
    assert is_name(f"{name}x")


@given(st.text(max_size=5) | st.text(alphabet="./\\\0aA", max_size=5))
def test_any_text_as_a_name_is_refused_or_unknown(tmp_path_factory, name):
    with pytest.raises(ModelError):
        read_model(name, tmp_path_factory.getbasetemp() / "none")


def test_a_newer_config_is_told_from_a_damaged_one(model):
    text, own, higher = CONFIG.to_json(), FORMAT_VERSION, FORMAT_VERSION + 1
    put(model, "config.json", text.replace(f'"format_version": {own}', f'"format_version": {higher}'))
    newer = NEWER.replace("up to 2", f"up to {own}")
    with refused(f"{model / 'config.json'} cannot be used: config.json has format version {higher}, {newer}"):
        read_model(model)


@pytest.mark.parametrize("name", ["card.json", "config.json", "tokenizer.json"])
def test_text_that_is_not_utf8_is_refused(model, name):
    put(model, name, b'"\xff"')
    with refused_with(f"{model / name} is not UTF-8 text: 'utf-8' codec can't decode byte 0xff"):
        read_model(model)


@pytest.mark.parametrize(("name", "depth"), [("card.json", 10_000), ("tokenizer.json", 100_000)])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[", '{"a":', "9" * 5000])
def test_text_that_is_no_json_object_is_refused(model, name, depth, text):
    put(model, name, text * depth if text in ("[", '{"a":') else text)
    with refused(f"{model / name} must hold one JSON object. {AGAIN}"):
        read_model(model)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "config.json is not JSON: maximum recursion depth exceeded"),
        ("[]", "config.json must hold one JSON object."),
        (config_text(num_heads="3"), "`num_heads` must be a whole number. Received: '3'."),
        (config_text(dropout=10**400), "`dropout` must be a finite number. Received: 1000"),
        (config_text(norm="\x1b[2J\ud800\n"), "`norm` must be one of 'none', 'post', 'pre', 'sandwich'."),
        (config_text(**{"\x1b\ud800\n": 1}), r"Missing: none; unknown: '\x1b\ud800\n'."),
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


def test_another_vocabulary_is_refused(model):
    def text(vocab, **content):
        return json.dumps({"model": {"vocab": vocab}, **content})

    def sentence(count):
        return (
            f"{model / 'tokenizer.json'} must number its tokens from 0 to 10: its config has a vocabulary of "
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
    monkeypatch.setattr(store.read, "safe_open", HeaderOnly)
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


safe_open = store.read.safe_open


def test_folders_are_read_without_keras_and_pickle():
    files = [file for file in Path(store.__file__).parent.glob("*.py") if file.name != "load.py"]
    assert files
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    imported = re.findall(r"^\s*(?:import|from) (\w+)", source, re.MULTILINE)
    assert not {"keras", "tensorflow", "pickle"} & {*imported}
    assert "eval(" not in source
