import asyncio
import functools
import time
from pathlib import Path

import pytest
import streamlit as st

from transformer_viz.language import LANGUAGES
from transformer_viz.store import ModelSummary
from transformer_viz.trace.request import Request
from transformer_viz.ui.shell import server


@pytest.fixture(autouse=True)
def own_children(monkeypatch):
    """Give each server an engine and a trainer of its own, which end with it."""
    for name in ("shared_engine", "shared_trainer"):
        monkeypatch.setattr(server, name, functools.cache(getattr(server, name).__wrapped__))


def test_the_server_empties_the_trash_of_yesterday_as_it_starts(monkeypatch, models_folder):
    monkeypatch.setattr(st, "get_option", {"server.headless": True, "server.allowedHosts": []}.get)
    (models_folder / (".trash-old-1-" + "0" * 16)).mkdir()

    async def serve():
        async with server.lifespan(None):
            assert not list(models_folder.glob(".trash-*"))

    asyncio.run(serve())


def test_the_server_starts_though_the_models_cannot_be_listed(monkeypatch, tmp_path):
    (tmp_path / "models").touch()
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(st, "get_option", {"server.headless": True, "server.allowedHosts": []}.get)

    async def serve():
        async with server.lifespan(None):
            assert server.shared_engine().restarts == 0

    asyncio.run(serve())


def summary(name):
    return ModelSummary(name, None, {}, 0, None, Path(name))


def test_the_model_to_show_first_stands_in_front_and_the_others_by_name():
    models = [summary("b"), summary("imdb-sentiment"), summary("a")]
    assert [model.name for model in server.sorted_models(models)] == ["imdb-sentiment", "a", "b"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_app_opens_with_the_model_of_its_language_or_the_first_there_is(language):
    own = server.FIRST_MODELS[language][0]
    assert server.first_model(["a", own], language) == own
    assert server.first_model(["b", "a"], language) == "b"


@pytest.mark.parametrize(
    ("hosts", "host"),
    [
        (["localhost", "127.0.0.1"], "localhost"),
        (["class.example", "localhost"], "class.example"),
        (["*.example.com", "10.0.0.7"], "10.0.0.7"),
        (["*"], "localhost"),
        ([], "localhost"),
    ],
)
def test_the_address_that_is_printed_is_one_that_is_let_in(monkeypatch, hosts, host):
    options = {"server.port": 8765, "server.allowedHosts": hosts}
    monkeypatch.setattr(st, "get_option", options.get)
    assert server.address() == f"http://{host}:8765"


@pytest.mark.parametrize(
    ("language", "part"), [("zh", "/?lang=zh"), ("en", "/?lang=en"), ("de", ""), ("", "")]
)
def test_the_app_opens_in_the_language_chosen_for_it(monkeypatch, language, part):
    monkeypatch.setenv("TRANSFORMER_VIZ_LANG", language)
    assert server.chosen_language() == part


@pytest.mark.parametrize(("headless", "opened"), [(True, 0), (False, 1)])
def test_the_browser_opens_once_the_server_listens_unless_there_is_no_screen(
    monkeypatch, models_folder, headless, opened
):
    addresses = []
    options = {"server.headless": headless, "server.port": 8765, "server.allowedHosts": ["localhost"]}
    monkeypatch.setattr(st, "get_option", options.get)
    monkeypatch.setattr(server.webbrowser, "open", addresses.append)
    monkeypatch.setenv("TRANSFORMER_VIZ_LANG", "zh")

    async def serve():
        async with server.lifespan(None):
            assert addresses == []
            engine = server.shared_engine()
            deadline = time.monotonic() + 20
            while len(addresses) < opened or engine.pid is None:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
            assert addresses == ["http://localhost:8765/?lang=zh"] * opened

    asyncio.run(serve())


def test_the_engine_leaves_the_processors_to_a_first_picture_whose_answer_is_kept(monkeypatch, models_folder):
    monkeypatch.setattr(st, "get_option", {"server.headless": True, "server.allowedHosts": []}.get)
    warmed = []
    monkeypatch.setattr(server.Engine, "warm", lambda self, model: warmed.append(model))
    monkeypatch.setattr(server, "HEAD_START", 0.5)
    monkeypatch.setattr(server, "opening_requests", lambda: {"en": Request("a model", "a text")})

    async def warmed_at_once():
        async with server.lifespan(None):
            await asyncio.sleep(0.1)
            soon = len(warmed)
            await asyncio.sleep(0.6)
            assert len(warmed) == 1
            return bool(soon)

    for kept, at_once in ((None, True), ("an answer", False)):
        warmed.clear()
        monkeypatch.setattr(server, "kept_answer", lambda request, kept=kept: kept)
        assert asyncio.run(warmed_at_once()) is at_once
