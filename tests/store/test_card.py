"""A card may come from anybody: it is short, it can be shown, and what a training writes is read again."""

import json
import random

import pytest
from model_folders import AGAIN, CARD, put, refused, refused_with, write
from safetensors.numpy import load_file

from transformer_viz import store
from transformer_viz.store import list_models, read_model
from transformer_viz.store.card import MAX_BYTES, MAX_CONFUSED, presentable, shortened
from transformer_viz.store.format import dump

SHORTEN = "Shorten it (`store.shorten_card` in Python), or delete the model."

TOO_MUCH = {
    "examples": ({"examples": ["a"] * 13}, "13 `examples`; at most 12 are read."),
    "epochs": ({"history": [{}] * 1_001}, "1,001 epochs in `history`; at most 1,000 are read."),
    "figures": (
        {"test": {f"figure {i}": i / 21 for i in range(21)}},
        "21 figures in `test`; at most 20 are read.",
    ),
    "labels": (
        {"validation": {"by_label": {str(i): {} for i in range(201)}}},
        "201 labels in `validation`; at most 200 are read.",
    ),
    "written": ({"test": {"examples": [{}] * 13}}, "13 examples in `test`; at most 12 are read."),
    "bytes": ({"source": "x" * MAX_BYTES}, "65,550 bytes; at most 65,536 are read."),
}


@pytest.mark.parametrize(("card", "problem"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_card_with_too_much_of_anything_is_listed_as_broken_others_go_on(model, card, problem):
    write(model.parent, "good")
    put(model, "card.json", json.dumps(card))
    sentence = f"{model / 'card.json'} has {problem} {SHORTEN}"
    with refused(sentence):
        read_model(model)
    assert {each.name: each.problem for each in list_models(model.parent)} == {"good": None, "tiny": sentence}


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        ({"data": [[[[[[[[]]]]]]]]}, "must hold no more than 8 lists within each other."),
        ({"label_values": [1]}, "must have names of labels as `label_values`."),
    ],
    ids=["depth", "names"],
)
def test_a_card_that_no_training_writes_is_refused(model, card, problem):
    put(model, "card.json", json.dumps(card))
    with refused(f"{model / 'card.json'} {problem} {AGAIN}"):
        read_model(model)


@pytest.mark.parametrize("card", [card for card, _ in TOO_MUCH.values()], ids=TOO_MUCH)
def test_a_card_that_was_shortened_is_read_again_and_nothing_else_changed(model, card):
    put(model, "card.json", json.dumps(card))
    before = (model / "parameters.safetensors").read_bytes()
    store.shorten_card("tiny", model.parent)
    assert read_model(model).card.keys() == card.keys()
    assert (model / "parameters.safetensors").read_bytes() == before
    assert load_file(model / "parameters.safetensors")


def test_what_cannot_be_shortened_is_said(model):
    put(model, "card.json", json.dumps({"poem": "x" * MAX_BYTES}))
    with refused_with("card.json has 65,5", SHORTEN):
        store.shorten_card("tiny", model.parent)
    with refused_with("There is no model"):
        store.shorten_card("gone", model.parent)


def test_a_card_too_long_to_be_read_is_not_read_at_all(model, monkeypatch):
    put(model, "card.json", "x" * (MAX_BYTES + 1))
    monkeypatch.setattr(store.read, "json_object", None)
    assert "has 65,537 bytes" in list_models(model.parent)[0].problem


def test_a_short_card_is_written_as_it_is():
    assert shortened(CARD) is CARD


def history(epochs):
    return [
        {"loss": 1 / number, "accuracy": 0.5, "val_loss": 1 / number, "val_accuracy": 0.5}
        for number in range(1, epochs + 1)
    ]


def long_training(labels=500, epochs=5_000, text="影评"):
    """Return the card of a training that was as long and wide as they come."""
    names = [f"{text * 20} {number}" for number in range(labels)]
    counts = random.Random(1)
    by_label = {
        name: {"precision": 0.1, "recall": 0.2, "f1": 0.3, "rows": counts.randrange(10**6)} for name in names
    }
    return {
        "parameters": 7,
        "preset": "single-block",
        "command": f"python -m transformer_viz train {text * 5_000}",
        "examples": [text * 2_000] * 30,
        "label_values": {name: name for name in names},
        "history": history(epochs),
        "best_epoch": epochs // 3,
        "validation": {"accuracy": 0.5, "rows": 10},
        "test": {
            "accuracy": 0.5,
            "by_label": by_label,
            "confusion": {name: dict.fromkeys(names, 0) for name in names},
            "examples": [{"text": text * 999, "target": text, "written": text}] * 30,
        },
    }


@pytest.mark.parametrize(
    "size",
    [
        {},
        {"labels": 2},
        {"epochs": 3},
        {"labels": 2, "epochs": 1_001, "text": "a"},
        {"labels": 25, "epochs": 900},
        {"labels": 210, "epochs": 40, "text": "a"},
    ],
    ids=str,
)
def test_whatever_a_training_writes_is_read_again(tmp_path, size):
    card = long_training(**size)
    read = read_model(write(tmp_path, card=card)).card
    assert [summary.problem for summary in list_models(tmp_path)] == [None]
    for kept in ("parameters", "preset", "best_epoch"):
        assert read[kept] == card[kept]
    assert read["test"]["accuracy"] == 0.5
    epochs = [epoch.get("epoch", number) for number, epoch in enumerate(read["history"], start=1)]
    last = len(card["history"])
    assert epochs == sorted(set(epochs))
    assert {1, card["best_epoch"], last} <= {*epochs}
    by_number = dict(zip(epochs, read["history"], strict=True))
    assert by_number[last]["loss"] == 1 / last


def test_the_labels_that_keep_their_figures_are_the_most_frequent():
    card = long_training(labels=500, epochs=2, text="a")
    by_label = shortened(card)["test"]["by_label"]
    rows = [found["rows"] for found in card["test"]["by_label"].values()]
    assert {found["rows"] for found in by_label.values()} == {*sorted(rows)[-len(by_label) :]}
    assert len(by_label) == 50


def test_a_confusion_is_written_for_few_labels():
    small, large = long_training(3, 1, "a"), long_training(MAX_CONFUSED + 1, 1, "a")
    small["command"], small["examples"], small["test"]["examples"] = "", [], []
    assert "confusion" in shortened(small)["test"]
    assert "confusion" not in shortened(large)["test"]


ODD = [None, 5, "x", [], [5], {}, {"a": [1]}, True, {"x": {"rows": "y"}}]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_cards_are_shortened_too(value):
    names = ("examples", "history", "test", "validation", "label_values", "best_epoch", "command")
    parts = ("by_label", "confusion", "examples")
    card = dict.fromkeys(names, value) | {"source": "x" * MAX_BYTES}
    assert len(dump(shortened(card))) <= MAX_BYTES
    for many in ([value] * 300, dict.fromkeys(map(str, range(300)), value)):
        card["test"] = dict.fromkeys(parts, many)
        assert len(dump(shortened(card))) <= MAX_BYTES


def test_what_is_listed_can_be_shown(model):
    odd = {"ta\ud800sk": "a\u202eb\x00c\u2028d\nf\ud83d", "n": [10**20, -1e300, float("nan"), 3, True, 0.5]}
    put(model, "card.json", json.dumps(odd))
    assert list_models(model.parent)[0].card == {"task": "abcd\nf", "n": [None, None, None, 3, True, 0.5]}
    assert read_model(model).card["ta\ud800sk"] == odd["ta\ud800sk"]
    assert presentable(CARD) == CARD
