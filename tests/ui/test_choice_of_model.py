"""The choice of model in the header: what each shipped model does, and in which order they stand."""

from pathlib import Path

import pytest
from pages import again, open_page

SHELF = Path(__file__).parents[2] / "models"

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(SHELF))


def test_models_of_a_kind_stand_together_each_with_what_it_does():
    options = open_page("positions").selectbox(key="model").options
    assert [option.partition(" · ")[0] for option in options] == [
        *("imdb-sentiment", "attention-only", "position-attention", "reviews-zh", "single-block"),
        *("induction", "poems-zh", "reviews-next"),
        *("reviews-masked", "reviews-zh-masked"),
        *("dates", "reverse-digits", "translate-en-fr", "translate-en-zh", "translate-zh-en"),
    ]
    does = dict(option.split(" · ") for option in options)
    assert does["reviews-zh"] == "judges Chinese reviews"
    assert does["induction"] == "continues repeated letters"
    assert does["reviews-next"] == "continues film reviews"
    assert does["reviews-masked"] == "fills in words of film reviews"
    assert does["dates"] == "writes dates as 2021-03-03"
    assert does["translate-en-zh"] == "English → Chinese"


def test_what_a_model_does_is_said_in_the_visitor_s_language():
    options = open_page("positions", lang="zh").selectbox(key="model").options
    assert "translate-en-zh · 英语 → 中文" in options


@pytest.mark.parametrize(
    ("address", "model"),
    [
        ({}, "imdb-sentiment"),
        ({"lang": "zh"}, "reviews-zh"),
        ({"lang": "zh", "text": "a fine film"}, "imdb-sentiment"),
        ({"lang": "zh", "model": "dates"}, "dates"),
    ],
)
def test_an_address_without_a_model_opens_that_of_its_language(address, model):
    app = open_page("positions", **address)
    assert app.selectbox(key="model").value == model
    assert app.query_params.get("model", "imdb-sentiment") == model


def test_a_model_stays_when_the_language_changes():
    app = open_page("positions", lang="zh")
    app.segmented_control(key="lang").set_value("en")
    assert again(app).selectbox(key="model").value == "reviews-zh"


def test_a_model_that_left_the_shelf_opens_the_one_in_its_place():
    app = open_page("positions", model="hotel-zh", lang="en")
    assert app.selectbox(key="model").value == "reviews-zh"
    assert app.query_params["model"] in ("reviews-zh", ["reviews-zh"])
    assert not app.toast
