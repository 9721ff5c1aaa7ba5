"""A card may come from anybody: it opens, it can be shown, and of one that is too large the rest is kept."""

import json
import time

import pytest
from model_folders import AGAIN, CARD, put, refused, write

from transformer_viz import store
from transformer_viz.store import list_models, read_model
from transformer_viz.store.card import MAX_BYTES, MAX_DEPTH, fitted, presentable
from transformer_viz.store.format import LARGEST

LONG = "影" * (MAX_BYTES // 6)


def nested(depth):
    """Return so many lists within each other."""
    found = []
    for _ in range(depth - 1):
        found = [found]
    return found


def by_label(count):
    return {f"label {number}": {"precision": 0.5, "rows": number} for number in range(count)}


TOO_MUCH = {
    "a text": ({"source": LONG, "task": "x"}, {"task": "x"}),
    "epochs": ({"history": [{"loss": 1.0}] * 9_000, "best_epoch": 7}, {"best_epoch": 7}),
    "labels": (
        {"validation": {"accuracy": 0.5, "by_label": by_label(9_000)}, "task": "x"},
        {"validation": {"accuracy": 0.5}, "task": "x"},
    ),
    "two that fit alone": (
        {"test": {"confusion": by_label(2_000), "by_label": by_label(1_800)}, "history": [1]},
        {"test": {"by_label": by_label(1_800)}, "history": [1]},
    ),
    "depth": ({"data": nested(MAX_DEPTH + 1), "task": nested(MAX_DEPTH)}, {"task": nested(MAX_DEPTH)}),
    "depth in metrics": ({"test": {"data": nested(400), "accuracy": 0.5}}, {"test": {"accuracy": 0.5}}),
    "names": ({"label_values": ["bad"], "task": "x"}, {"task": "x"}),
}


@pytest.mark.parametrize(("card", "kept"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_card_that_is_too_large_loses_its_largest_parts_alone(model, card, kept):
    put(model, "card.json", json.dumps(card))
    assert read_model(model).card == kept
    [listed] = list_models(model.parent)
    assert (listed.card, listed.problem) == (kept, None)
    assert read_model(write(model.parent, "written", card=card)).card == kept


@pytest.mark.parametrize(("card", "kept"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_facts_are_added_to_what_is_kept_of_a_foreign_card(model, card, kept):
    put(model, "card.json", json.dumps(card))
    before = (model / "parameters.safetensors").read_bytes()
    store.write_in_card("tiny", {"effects": [1]}, model.parent)
    assert json.loads((model / "card.json").read_text()) == read_model(model).card == kept | {"effects": [1]}
    assert (model / "parameters.safetensors").read_bytes() == before


@pytest.mark.parametrize("facts", [{"effects": LONG}, {"effects": nested(9)}], ids=["long", "deep"])
def test_facts_for_which_a_card_has_no_room_are_refused(model, facts):
    before = (model / "card.json").read_bytes()
    with refused(
        f"{model / 'card.json'} would be too large: a card has at most 131,072 bytes, and 8 lists within "
        "each other. Save fewer facts in it."
    ):
        store.write_in_card("tiny", facts, model.parent)
    assert (model / "card.json").read_bytes() == before


def test_a_file_too_large_for_any_card_is_not_read(model):
    put(model, "card.json", json.dumps({"source": "x" * LARGEST["card.json"]}))
    assert "card.json has 1,048,590 bytes, more than" in list_models(model.parent)[0].problem


def test_a_card_of_a_hundred_thousand_parts_is_read_soon():
    before = time.process_time()
    kept = fitted({str(number): 1 for number in range(100_000)})
    assert time.process_time() - before < 10
    assert 0 < len(json.dumps(kept)) < 2 * MAX_BYTES


def test_a_card_within_the_limits_is_read_and_written_as_it_is(model):
    assert list(fitted(CARD).items()) == list(CARD.items())
    assert read_model(model).card == CARD


ODD = [None, 5, "x", [], [5], {}, {"a": [1]}, True, {"x": {"rows": "y"}}]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_cards_are_fitted_too(value):
    names = ("examples", "history", "test", "validation", "best_epoch", "command")
    odd = dict.fromkeys(names, value)
    for many in ([value] * 60_000, dict.fromkeys(map(str, range(60_000)), value)):
        assert fitted(odd | {"data": many, "source": LONG}) == odd
        assert fitted(odd | {"test": {"confusion": many, "loss": 1}}) == odd | {"test": {"loss": 1}}


def test_what_is_listed_can_be_shown(model):
    odd = {"ta\ud800sk": "a\u202eb\x00c\u2028d\nf\ud83d", "n": [10**20, -1e300, float("nan"), 3, True, 0.5]}
    put(model, "card.json", json.dumps(odd))
    assert list_models(model.parent)[0].card == {"task": "abcd\nf", "n": [None, None, None, 3, True, 0.5]}
    assert read_model(model).card["ta\ud800sk"] == odd["ta\ud800sk"]
    assert presentable(CARD) == CARD


def test_a_card_that_is_no_object_is_refused(model):
    put(model, "card.json", "[]")
    with refused(f"{model / 'card.json'} must hold one JSON object. {AGAIN}"):
        read_model(model)
