"""The models in the memory of a child: which are loaded, which stay, and who waits for whom."""

import threading
import time
import weakref

import pytest

from transformer_viz.service.engine import EngineError, models
from transformer_viz.service.engine.models import Models

PLENTY = 30


class Model:
    """What is compiled for a model holds it, and it holds that."""

    def __init__(self, name):
        self.name, self.own = name, self


class Disk:
    """Folders of models: their sizes, what was loaded from them, and whether they respond."""

    def __init__(self, **sizes):
        self.sizes, self.loaded, self.held = sizes, [], {}

    def size(self, name):
        return self.sizes.get(name, 1)

    def load(self, name):
        self.loaded.append(name)
        if name in self.held:
            assert self.held[name].wait(PLENTY)
        if name == "damaged":
            raise ValueError("it is damaged")
        return Model(name)


@pytest.fixture(autouse=True)
def room(monkeypatch):
    """Let children keep 10 bytes."""
    monkeypatch.setattr(models, "MOST_BYTES", 10)


def fetched(kept, name, stamp=""):
    """Ask for a model until it is there, as the engine does."""
    deadline = time.monotonic() + PLENTY
    while (model := kept.get(name, stamp)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return model


def test_models_that_were_not_asked_for_lately_go_when_there_is_no_room():
    disk = Disk(a=4, b=4, c=5)
    kept = Models(disk.load, disk.size)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert fetched(kept, name).name == name
    assert disk.loaded == ["a", "b", "c", "b"]


def test_a_model_larger_than_all_room_is_served_and_alone():
    disk = Disk(a=4, large=50)
    kept = Models(disk.load, disk.size)
    for name in ("a", "large", "large", "a"):
        assert fetched(kept, name).name == name
    assert disk.loaded == ["a", "large", "a"]


def test_a_model_that_goes_is_freed_before_the_next_is_loaded():
    alive = []

    def load(name):
        alive.append([each() is not None for each in seen])
        return Model(name)

    seen, kept = [], Models(load, lambda name: 6)
    for name in ("a", "b", "c"):
        seen += [weakref.ref(fetched(kept, name))]
    assert alive == [[], [False], [False, False]]


def test_more_models_asked_for_at_once_than_there_is_room_for_are_each_loaded_once():
    names = [f"model-{number}" for number in range(7)]
    disk = Disk(**dict.fromkeys(names, 4))
    kept, waiting, deadline = Models(disk.load, disk.size), [*names], time.monotonic() + PLENTY
    while waiting:
        waiting = [name for name in waiting if kept.get(name, "") is None]
        assert time.monotonic() < deadline
    assert disk.loaded == names


def test_a_model_that_nobody_fetches_holds_up_the_next_only_if_there_is_no_room_for_both(monkeypatch):
    disk = Disk(left=6, small=4, large=6)
    kept = Models(disk.load, disk.size)
    monkeypatch.setattr(models, "UNCLAIMED", PLENTY)
    assert kept.get("left", "") is None
    assert fetched(kept, "small").name == "small"
    monkeypatch.setattr(models, "UNCLAIMED", 0.2)
    assert fetched(kept, "large").name == "large"


def test_a_folder_that_does_not_respond_concerns_its_own_model_alone(monkeypatch):
    disk = Disk()
    disk.held["absent"] = threading.Event()
    kept = Models(disk.load, disk.size)
    assert kept.get("absent", "") is None
    with monkeypatch.context() as patch:
        patch.setattr(models, "TURN", 0.05)
        assert fetched(kept, "other").name == "other"
        patch.setattr(models, "LIMIT", 0.05)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"loading, seconds = 0\.05"):
                kept.get("absent", "")
        assert fetched(kept, "third").name == "third"
    disk.held["absent"].set()
    assert fetched(kept, "absent").name == "absent"
    assert disk.loaded == ["absent", "other", "third"]


def test_models_are_loaded_one_after_another():
    log = []

    def load(name):
        log.append(f"{name} begins")
        time.sleep(0.1)
        log.append(f"{name} ends")
        return Model(name)

    kept = Models(load, lambda name: 1)
    while kept.get("first", "") is None or kept.get("second", "") is None:
        assert kept.get("third", "") is None or "third ends" in log
    fetched(kept, "third")
    assert [each.split()[1] for each in log] == ["begins", "ends"] * 3


def test_a_rewritten_model_takes_the_place_of_the_former_one():
    disk = Disk(a=9)
    kept = Models(disk.load, disk.size)
    before = fetched(kept, "a", "1")
    assert fetched(kept, "a", "1") is before
    assert fetched(kept, "a", "2") is not before
    assert disk.loaded == ["a", "a"]


def test_an_error_is_told_once_and_the_next_request_loads_again():
    disk = Disk()
    kept = Models(disk.load, disk.size)
    for _ in range(2):
        with pytest.raises(ValueError, match="it is damaged"):
            fetched(kept, "damaged")
    assert disk.loaded == ["damaged", "damaged"]
