"""The earlier runs on the Attention page, each of which becomes A or B of a comparison."""

import json

import pytest
from pages import again, open_page, shown

from transformer_viz.ui.pages.attention.earlier import MENU
from transformer_viz.ui.shell.language import escaped

pytestmark = pytest.mark.usefixtures("engine")

OTHER = "A dull and lifeless story."


def texts_seen(app):
    """Type another text behind the first one, and open the list; return the app."""
    app.text_input(key="sentence").set_value(OTHER)
    app.session_state[MENU] = True
    return again(app)


def use(app, side, number):
    """Press A or B of one of the runs, the latest first, and return A's text."""
    app.button(key=f"run-{side}-{number}").click()
    again(app)
    return json.loads(app.query_params["before"])["text"]


def test_the_first_run_has_no_earlier_ones():
    assert not [button for button in open_page().button if str(button.key).startswith("run-")]


def test_the_list_is_made_once_it_is_opened(reviews):
    app = texts_seen(open_page())
    assert f"**{escaped(reviews[0])}** · small" in shown(app)
    app.session_state[MENU] = False
    assert "· small" not in shown(again(app))


def test_an_earlier_run_becomes_a_beside_what_is_shown(reviews):
    app = texts_seen(open_page())
    assert use(app, "A", 1) == reviews[0]
    assert app.text_input(key="sentence").value == OTHER


def test_an_earlier_run_becomes_b_of_what_was_shown(reviews):
    app = texts_seen(open_page())
    assert use(app, "B", 1) == OTHER
    assert app.text_input(key="sentence").value == reviews[0]


def test_b_is_chosen_anew_beside_the_same_a(reviews):
    app = texts_seen(open_page())
    assert use(app, "A", 1) == reviews[0]
    app.text_input(key="sentence").set_value(reviews[1])
    again(app)
    assert use(app, "B", 1) == reviews[0]
    assert app.text_input(key="sentence").value == OTHER
