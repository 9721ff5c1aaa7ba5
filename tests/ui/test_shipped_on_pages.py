"""The pages of an installed package, whose shipped models stay as they are."""

import pytest
import streamlit as st
from pages import APP, go_to_page, listed, open_page, press
from small_models import write
from streamlit.testing.v1 import AppTest

from transformer_viz import store
from transformer_viz.store import places
from transformer_viz.ui.shell import classroom

CHANGES = {"Rename", "Delete"}


@pytest.fixture
def data(explorer, tmp_path, monkeypatch):
    """The data folder of a user with one model, `mine`; `small` is shipped."""
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(places.platformdirs, "user_data_path", lambda *_, **__: tmp_path / "data")
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path / "data" / "runs"))
    monkeypatch.delenv("TRANSFORMER_VIZ_MODELS", raising=False)
    write(explorer, tmp_path / "shipped" / "models")
    store.duplicate_model("small", "mine")
    return tmp_path / "data"


def offered(app):
    return {button.label for button in app.button}


def test_what_is_shipped_stands_beside_what_is_the_user_s_and_cannot_be_changed(data):
    app = open_page("models", show="mine")
    assert listed(app) == ["mine", "small"]
    assert offered(app) >= CHANGES
    app = open_page("models", show="small")
    assert not offered(app) & CHANGES
    press(app, "Duplicate")
    assert listed(app) == ["mine", "small", "small-2"]
    assert (data / "models" / "small-2" / "manifest.json").exists()


def test_a_damaged_shipped_model_is_named_without_the_folders_of_the_server(data, tmp_path):
    (tmp_path / "shipped" / "models" / "small" / "card.json").unlink()
    [error] = open_page("models", show="small").error
    assert error.value.replace("\\", "").startswith("small must name exactly")


def test_a_class_sees_the_shipped_models_and_has_its_own_elsewhere(data, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", {})  # the harness makes them up
    monkeypatch.setenv("TRANSFORMER_VIZ_CLASSROOM", "1")
    app = AppTest.from_file(APP, default_timeout=60)
    app.session_state[classroom.COOKIE] = "ann"
    app.query_params["show"] = "small"
    go_to_page(app, "models")
    press(app, "Duplicate")
    assert listed(app) == ["mine", "small", "small-2"]
    assert list(app.dataframe[0].value["whose"]) == ["class", "class", "you"]
    home = classroom.own_models(classroom.owner_of("ann"))
    assert (home / "small-2" / "manifest.json").exists()
    assert [path.name for path in (data / "models").iterdir()] == ["mine"]
