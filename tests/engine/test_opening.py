"""The answer that the app opens with, kept from one server to the next."""

import contextlib
import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import expect
from running_app import running

from transformer_viz.language import LANGUAGES
from transformer_viz.network.tensors import flatten
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.service import opening
from transformer_viz.service.engine import Engine
from transformer_viz.store.load import load
from transformer_viz.store.places import cache_folder
from transformer_viz.trace.request import Request
from transformer_viz.ui.shell.server import opening_requests


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSFORMER_VIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def asked(models_folder):
    """A request and its answer."""
    request = Request(str(models_folder / "small"), "the film was good")
    return request, load(request.model).run(request)


def test_a_kept_answer_is_the_same_answer(asked):
    request, trace = asked
    assert opening.kept_answer(request) is None
    opening.keep_answer(request, trace)
    assert opening.kept_answer(request) == trace
    assert opening.kept_answer(Request(request.model, "the film was bad")) is None
    assert opening.kept_answer(request.changed(ablate=((0, 0),))) is None


def test_why_is_kept_beside_the_answer(asked, cache):
    request, trace = asked
    why = EffectsRequest(request)
    found = effects(load(request.model), request.text)
    opening.keep_answer(request, trace)
    assert opening.kept_answer(why) is None
    opening.keep_answer(why, found)
    assert same(opening.kept_answer(why), found)
    assert opening.kept_answer(request) == trace
    assert opening.kept_answer(EffectsRequest(request, answer=0)) is None
    opening.keep_answer(EffectsRequest(request, answer=0), found)
    assert opening.kept_answer(why) is None
    assert len([*cache.iterdir()]) == 2


def test_measured_heads_are_kept_with_the_rest(asked):
    why = EffectsRequest(asked[0])
    found = effects(load(why.model), why.request.text)
    found = dataclasses.replace(found, ablated=found.heads)
    opening.keep_answer(why, found)
    assert same(opening.kept_answer(why), found)


def same(one, other):
    """Return whether two effects are the same in all that a page shows."""
    arrays = [(each.cells, each.ablated or {}) for each in (one, other)]
    facts = [
        (each.answer, each.labels, each.versus, each.certainty, each.stand_in, each.tokens)
        for each in (one, other)
    ]
    return (
        facts[0] == facts[1]
        and one.words.equals(other.words)
        and all(mine.keys() == theirs.keys() for mine, theirs in zip(*arrays, strict=True))
        and all(
            np.array_equal(mine[kind], theirs[kind])
            for mine, theirs in zip(*arrays, strict=True)
            for kind in mine
        )
    )


def test_an_answer_holds_until_the_model_or_the_code_changes(asked, monkeypatch, models_folder):
    request, trace = asked
    opening.keep_answer(request, trace)
    monkeypatch.setattr(opening, "_code", lambda: 0)
    assert opening.kept_answer(request) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_shipped_answer_is_what_the_shipped_model_answers(monkeypatch, language):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    request = opening_requests.__wrapped__()[language]
    assert opening.shipped_path(request).exists(), "write it anew: python models/keep_opening.py"
    kept, computed = opening.kept_answer(request), load(request.model).run(request)
    assert (kept.model, kept.text, kept.tokens, kept.labels) == (
        computed.model,
        computed.text,
        computed.tokens,
        computed.labels,
    )
    ours, theirs = flatten(kept.values), flatten(computed.values)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert_allclose(array, theirs[name], atol=1e-4, rtol=1e-4, err_msg=name)
    assert_allclose(kept.probs, computed.probs, atol=1e-5)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_shipped_effects_are_those_of_the_shipped_model(monkeypatch, language):
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    why = EffectsRequest(opening_requests.__wrapped__()[language])
    assert opening.shipped_path(why).exists(), "write it anew: python models/keep_opening.py"
    kept = opening.kept_answer(why)
    with contextlib.closing(Engine()) as engine:  # which measures heads, too, where the answer is saturated
        computed = engine.effects(why)
    assert (kept.answer, kept.labels, kept.tokens) == (computed.answer, computed.labels, computed.tokens)
    assert_allclose(kept.cells["encoder"], computed.cells["encoder"], atol=1e-4)
    assert kept.words["word"].tolist() == computed.words["word"].tolist()
    assert_allclose(kept.words["value"], computed.words["value"], atol=1e-3)
    measured = [each.ablated or {} for each in (kept, computed)]
    assert measured[0].keys() == measured[1].keys()
    for kind, heads in measured[0].items():
        assert_allclose(heads, measured[1][kind], atol=1e-3)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no zip"])
def test_damaged_effects_are_none(asked, cache, damage):
    why = EffectsRequest(asked[0])
    opening.keep_answer(why, effects(load(why.model), why.request.text))
    [path] = cache.iterdir()
    path.write_bytes(damage)
    assert opening.kept_answer(why) is None


def test_only_the_last_answer_is_kept(asked, cache):
    request, trace = asked
    for text in ("the film was good", "the film was bad"):
        opening.keep_answer(Request(request.model, text), trace)
    assert len([*cache.iterdir()]) == 1
    assert opening.kept_answer(request) is None


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no zip"])
def test_a_damaged_file_is_no_answer(asked, cache, damage):
    request, trace = asked
    opening.keep_answer(request, trace)
    [path] = cache.iterdir()
    path.write_bytes(damage)
    assert opening.kept_answer(request) is None


def test_a_folder_that_cannot_be_written_to_keeps_nothing(asked, monkeypatch, tmp_path):
    request, trace = asked
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSFORMER_VIZ_CACHE", str(tmp_path / "file" / "cache"))
    opening.keep_answer(request, trace)
    assert opening.kept_answer(request) is None


def test_a_new_server_opens_with_the_kept_answer(new_visitor, models_folder, cache):
    request = opening_requests.__wrapped__()["en"]
    without = load(request.model).run(request.changed(ablate=((0, 0), (1, 0))))
    own = load(request.model).run(request)
    shown = [f"{trace.probs.max():.1%}" for trace in (without, own)]
    assert shown[0] != shown[1]
    opening.keep_answer(request, without)  # what no server would keep shows where the answer is from
    with running(TRANSFORMER_VIZ_CACHE=cache) as (_, address):
        page = new_visitor()
        page.goto(address)
        page.locator(".lens .said").wait_for(timeout=60_000)
        expect(page.locator(".bench .answer")).to_contain_text(shown[0])
    for each in cache.iterdir():
        each.unlink()
    with running(TRANSFORMER_VIZ_CACHE=cache) as (_, address):
        page.goto(address)
        expect(page.locator(".bench .answer")).to_contain_text(shown[1], timeout=60_000)
    assert opening.kept_answer(request) == own


def test_the_cache_is_a_folder_of_the_user(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_VIZ_CACHE")
    assert cache_folder().name == "transformer-viz"
