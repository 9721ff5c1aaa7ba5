"""A page that fails because of something in its address, or for a reason of its own."""

import pytest
import streamlit as st
from pages import APP, calc_hash, open_page, shown
from streamlit.testing.v1 import AppTest

from transformer_viz.ui import frame
from transformer_viz.ui.shell import recovering

pytestmark = pytest.mark.usefixtures("engine", "decoders")

TEXT = "A lovely film."
SAMPLING = "0.5-3-1"


@pytest.fixture
def breaking(monkeypatch):
    """Return a function that makes the Writing page fail whenever something holds once it is shown."""
    monkeypatch.setattr(frame, "recovered", recovering.recovered)
    monkeypatch.setattr(frame, "whole_run", recovering.whole_run)
    show, runs = frame.writing.show, []

    def break_if(breaks):
        def shown_and_broken(model, open_attention):
            show(model, open_attention)
            runs.append(dict(st.query_params))
            if breaks():
                raise KeyError("Zanzibar")

        monkeypatch.setattr(frame.writing, "show", shown_and_broken)
        return runs

    return break_if


def open_writing(**address):
    return open_page("writing", model="writer", text=TEXT, **address)


def is_sampled():
    return "sampling" in st.query_params


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_part_of_an_address_that_breaks_a_page_is_left_out_and_named(breaking, language):
    breaking(is_sampled)
    app = open_writing(sampling=SAMPLING, projector="1", lang=language)
    [warning] = app.warning
    assert f"sampling={SAMPLING}" in warning.value.replace("\\", "")
    kept = {"model": "writer", "text": TEXT, "projector": "1", "lang": language}
    assert app.query_params == kept
    assert (app.session_state.sentence, app.session_state.projector) == (TEXT, True)
    assert "unexpected-report" in {button.key for button in app.get("download_button")}
    assert not app.run().exception


def test_a_text_that_breaks_a_page_gives_way_to_the_first_example(breaking):
    breaking(lambda: st.session_state.get("sentence") == TEXT)
    app = open_writing(sampling=SAMPLING)
    assert "text\\=A lovely film\\." in app.warning[0].value
    assert app.query_params["sampling"] == SAMPLING
    assert app.session_state.sentence != TEXT


def test_an_address_with_two_parts_that_break_a_page_is_opened_without_any(breaking):
    breaking(lambda: is_sampled() or st.session_state.get("sentence") == TEXT)
    app = open_writing(sampling=SAMPLING, projector="1")
    assert "all its choices were left out" in app.warning[0].value
    assert not {"text", "sampling", "projector"} & {*app.query_params}


def test_an_act_that_fails_is_not_blamed_on_the_address(breaking):
    runs = breaking(lambda: len(runs) == 1)
    app = open_writing(sampling=SAMPLING)
    assert "Sorry, something went wrong" in shown(app)
    assert app.query_params["sampling"] == SAMPLING
    assert len(runs) == 2


def test_a_page_that_always_fails_shows_its_error_with_everything_as_it_was(breaking):
    runs = breaking(lambda: True)
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params.update(model="writer", text=TEXT, sampling=SAMPLING)
    app._page_hash = calc_hash("writing")
    for again in (1, 2):
        app.run()
        assert len(app.exception) == 1
        assert (app.query_params["sampling"], app.session_state.sentence) == (SAMPLING, TEXT)
        assert len(runs) == 6 * again  # twice as it was, without model, text, sampling, and all


def test_letters_in_place_of_heads_change_nothing_and_break_no_page():
    app = open_page(text=TEXT, changes='{"ablate": "ab"}')
    assert not app.exception
    assert not app.warning
