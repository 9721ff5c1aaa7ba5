"""What the workbench and the widgets around it have in common: the run that is shown, and the lesson."""

import json

import pytest
from bench import bench_on, told_to
from pages import again, go_to_page, open_page

from transformer_viz.ui import frame
from transformer_viz.ui.pages.attention import page
from transformer_viz.ui.workbench import mount
from transformer_viz.ui.workbench.seat import seat_of

pytestmark = pytest.mark.usefixtures("engine", "decoders")

CHANGES = {"ablate": [[0, 1]]}


def seat_on(app):
    return seat_of(told_to(app)["token"])


def test_a_session_has_one_token_and_another_session_another():
    app = open_page()
    token = told_to(app)["token"]
    assert told_to(again(app))["token"] == token
    assert told_to(open_page())["token"] != token
    assert len(token) >= 32


def test_other_pages_show_the_run_of_the_workbench():
    app = open_page(text="A dull film.", changes=json.dumps(CHANGES))
    bench_on(app).say("A dull plot.")
    writing = go_to_page(app, "writing")
    assert writing.session_state["sentence"] == "A dull plot."
    assert json.loads(writing.session_state["changes"]) == CHANGES


def test_the_workbench_shows_the_text_of_other_pages():
    app = open_page(model="writer", text="A dull film.")
    bench_on(app)
    writing = go_to_page(app, "writing")
    writing.text_input(key="sentence").set_value("A lovely plot.")
    again(writing)
    opened = told_to(go_to_page(writing, "attention"))["opened"]
    assert opened["text"] == "A lovely plot."
    assert told_to(again(app))["opened"] == opened  # once


def test_what_is_opened_below_is_not_lost_to_what_the_browser_shows_meanwhile():
    app = open_page(text="A dull film.")
    bench_on(app)
    bench_on(again(app)).say("A dull plot.")
    app.session_state["sentence"] = "A lovely plot."
    assert told_to(again(app))["opened"]["text"] == "A lovely plot."
    assert seat_on(app).shown.text == "A lovely plot."


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(("key", "value"), [("sentence", "A plot."), ("lesson", "07-how-a-head-copies")])
def test_of_what_is_opened_below_the_workbench_is_told(monkeypatch, key, value):
    """What is below runs alone; the whole script has to run for the workbench to be told."""
    app = open_page(text="A dull film.")
    bench_on(app)
    again(app)
    news = []
    monkeypatch.setattr(frame, "show_workbench", lambda page, model: None)
    monkeypatch.setattr(page, "is_fragment_run", lambda: True)
    monkeypatch.setattr(page, "has_news", lambda: news.append(mount.has_news()))
    again(app)
    app.session_state[key] = value
    again(app)
    assert news == [False, True]
