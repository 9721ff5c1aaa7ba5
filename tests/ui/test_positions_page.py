"""The Positions page, run by Streamlit's own test harness against a real engine and shipped models."""

import base64
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pages
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, array, figures, shown
from shelf import place_of

from transformer_viz import store
from transformer_viz.analysis import in_original_order, position_table, shuffled_order, sinusoidal_rates
from transformer_viz.ui.pages.positions.kinds import tables_of_kinds
from transformer_viz.ui.pages.positions.wording import difference_text
from transformer_viz.values.request import Request

ROOT = Path(__file__).parents[2]

ROUNDING = r"0(\u00a0\(rounding:\u00a0\de-0[6-9]\))?"
"""What is written for a difference that is none, in one piece."""

SHIPPED = ("attention-only", "hotel-zh", "induction", "reverse-digits")


pytestmark = pytest.mark.usefixtures("engine", "shipped")


def open_page(**address):
    return pages.open_page("positions", **address)


def place(app):
    return app.session_state["layer"], app.session_state["head"]


def test_a_model_opens_on_a_head_of_its_own_unless_the_address_names_one():
    app = open_page(model="induction")
    assert place(app) == (2, 1)
    assert not {"layer", "head"} & {*app.query_params}
    app.selectbox(key="model").set_value("attention-only")
    assert place(again(app)) == (1, 3)
    app.session_state["head"] = 5
    assert place(again(app)) == (1, 5)
    app.selectbox(key="model").set_value("induction")
    assert place(again(app)) == (2, 1)
    assert place(open_page(model="induction", layer="1", head="1")) == (1, 1)


def matrices(app):
    """Return what the weights before, after, and the difference are drawn from."""
    drawn = [json.loads(each.proto.json) for each in pages.components(app, "panels")]
    return drawn[0]["panels"] if drawn else []


def panels(app):
    """Return the weights before, after, and the difference, as they are drawn."""
    return [
        np.frombuffer(base64.b64decode(each["values"]), np.float32).reshape(
            len(each["rows"]), len(each["columns"])
        )
        for each in matrices(app)
    ]


def moved(app):
    """Return the largest changes of attention that the page states, row by row."""
    return re.findall(r"\| \*\*([^|]+)\*\* \|", shown(app))


@pytest.mark.parametrize("name", [*SHIPPED, "small"])
@pytest.mark.parametrize("view", ["experiment", "table", "rotation", "kinds"])
def test_every_view_of_every_model_is_a_picture(name, view):
    app = open_page(model=name, view=view)
    assert not app.error
    assert len(figures(app)) == (0 if view == "experiment" else 1)
    assert len(panels(app)) == (3 if view == "experiment" else 0)
    assert app.segmented_control(key="view").value == view


@pytest.mark.parametrize("name", ["hotel-zh", "reverse-digits", "small"])
def test_with_positions_a_shuffle_changes_attention_and_without_it_changes_nothing(name):
    app = open_page(model=name)
    own, without = moved(app)
    assert float(own) > 0.05
    assert re.fullmatch(ROUNDING, without)
    assert "Without position encoding, the same tokens get the same attention" in shown(app)


def test_a_model_without_positions_is_shuffled_and_nothing_changes():
    app = open_page(model="attention-only", layer="1", head="3")
    [without] = moved(app)
    assert re.fullmatch(ROUNDING, without)
    before, after, difference = panels(app)
    assert_allclose(before, after, atol=1e-5)
    assert np.abs(difference).max() < 1e-5
    assert app.segmented_control(key="do").options == ["Shuffle tokens", "Replace encoding"]
    [percents] = re.findall(r"negative ([\d.]+%) → negative ([\d.]+%)", shown(app))
    assert percents[0] == percents[1]


def test_what_was_shuffled_is_drawn_in_the_first_order(engine):
    app = open_page(model="hotel-zh", seed="4", head="2")
    text = app.text_input(key="sentence").value
    first = engine.answer(Request.of("hotel-zh", text))
    order = shuffled_order(len(first.tokens), 4)
    after = engine.answer(Request.of("hotel-zh", text, order=order))
    drawn = panels(app)
    assert_allclose(drawn[0], first.encoder[0].attention.weights[1], atol=1e-6)
    assert_allclose(drawn[1], in_original_order(after.encoder[0].attention.weights[1], order), atol=1e-6)
    assert_allclose(drawn[2], drawn[1] - drawn[0], atol=1e-6)
    assert f"{after.probs.max():.1%}" in shown(app)


def test_another_shuffle_is_another_order_and_stands_in_the_address():
    app = open_page(model="hotel-zh")
    first = panels(app)[1]
    app.button(key="shuffle").click()
    again(app)
    assert app.query_params["seed"] in ("1", ["1"])
    assert np.abs(panels(app)[1] - first).max() > 1e-3


def test_a_decoder_is_causal_and_the_page_says_so():
    app = open_page(model="induction")
    assert "A decoder attends only to earlier tokens" in shown(app)
    assert re.search(r"Read in this order: “[a-z]( [a-z])+”", shown(app))
    before, after, difference = panels(app)
    size = len(before)
    assert_array_equal(np.isnan(before), np.triu(np.ones((size, size), bool), 1))
    assert np.isnan(after).sum() == np.isnan(before).sum()
    assert_array_equal(np.isnan(difference), np.isnan(before) & np.isnan(after))


def test_without_positions_an_encoder_decoder_writes_something_else(engine):
    app = open_page(model="reverse-digits", do="remove")
    text = app.text_input(key="sentence").value
    written = engine.answer(Request.of("reverse-digits", text, positions="none")).target_text
    assert written != text[::-1]
    assert f"“{text[::-1]}” → “{written}”" in shown(app)


def test_another_table_is_put_in(engine):
    app = open_page(model="hotel-zh", head="1", do="swap")
    assert app.segmented_control(key="swap").value == "sinusoidal-halves"
    text = app.text_input(key="sentence").value
    after = engine.answer(Request.of("hotel-zh", text, positions="sinusoidal-halves"))
    assert_allclose(panels(app)[1], after.encoder[0].attention.weights[0], atol=1e-6)
    assert "one-hot" not in app.segmented_control(key="swap").options


def test_the_table_is_the_models_own(small_model, small_config):
    learned = np.asarray(small_model.position_table())
    [heatmap] = figures(open_page(model="small", view="table"))
    assert_array_equal(array(heatmap["data"][0]["z"]), learned)
    app = open_page(model="hotel-zh", view="table", rows="30")
    assert_array_equal(array(figures(app)[0]["data"][0]["z"]), position_table("sinusoidal", 30, 64))
    assert "**sinusoidal**: 256 positions, 64 dimensions" in shown(app)


def test_a_model_without_positions_says_so_and_shows_what_it_lacks():
    app = open_page(model="attention-only", view="table")
    assert "has no position encoding" in app.info[0].value
    [heatmap] = figures(app)
    assert_array_equal(array(heatmap["data"][0]["z"]), position_table("sinusoidal", 64, 128))


@pytest.mark.parametrize("view", ["experiment", "table"])
def test_without_positions_a_model_like_it_is_opened_with_the_same_text(view, tmp_path, monkeypatch):
    for name in (*SHIPPED, "position-attention"):
        shutil.copytree(place_of(name), tmp_path / name)
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    app = open_page(model="attention-only", view=view)
    text = app.session_state["sentence"] if view == "experiment" else None
    assert "This model has no position encoding" in app.info[0].value
    offered = [button for button in app.button if (button.key or "").startswith("open-")]
    assert [button.label for button in offered] == [r"Open position\-attention"]  # hotel-zh reads Chinese
    offered[0].click()
    again(app)
    assert app.selectbox(key="model").value == "position-attention"
    assert not app.info
    if view == "experiment":
        assert app.text_input(key="sentence").value == text
    controls = open_page(model="hotel-zh").segmented_control(key="do")
    assert "Remove encoding" in controls.options


def test_where_no_model_has_positions_none_is_offered(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "models" / "attention-only", tmp_path / "attention-only")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    app = open_page(view="table")
    assert "has no position encoding" in app.info[0].value
    assert not [button for button in app.button if (button.key or "").startswith("open-")]


def test_a_decoder_without_positions_is_not_said_to_be_blind_to_the_order(engine):
    folder = Path(os.environ["TRANSFORMER_VIZ_MODELS"])
    stored = store.read_model("induction")
    blind = stored.config.replace(positions="none")
    store.write_model(
        "blind", config=blind, tokenizer=stored.tokenizer, parameters=stored.parameters, card={}
    )
    app = open_page(model="blind", text="a b c a b")
    shutil.rmtree(folder / "blind")
    assert "only from its mask" in app.info[0].value
    assert "only reorders" not in app.info[0].value


@pytest.mark.parametrize(
    ("name", "lang", "said"),
    [
        ("reverse-digits", "en", "Weights of encoder self-attention, layer 1, head 2."),
        ("induction", "en", "Weights of masked self-attention, layer 2, head 2."),
        ("hotel-zh", "zh", "编码器自注意力：第 1 层，第 2 个头。三张图"),
    ],
)
def test_the_page_says_whose_attention_it_shows_and_names_rows_and_columns(name, lang, said):
    app = open_page(model=name, lang=lang, head="2")
    assert said in shown(app)
    named = (
        ("查询词元（query）", "键词元（key）") if lang == "zh" else ("query (attends)", "key (attended to)")
    )
    assert [(each["rowTitle"], each["columnTitle"]) for each in matrices(app)] == [named] * 3


def test_what_was_shuffled_stands_in_quotation_marks_of_the_language():
    assert re.search("按此顺序读入：“[^*_]+”", shown(open_page(model="hotel-zh", lang="zh")))


def test_a_row_of_the_table_has_no_space_at_which_it_breaks():
    app = open_page(model="hotel-zh")
    assert "| without\u00a0position\u00a0encoding | **0" in shown(app)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.0, "0"),
        (6e-8, "0 (rounding: 6e-08)"),
        (9e-6, "0 (rounding: 9e-06)"),
        (2e-5, "2e-05"),
        (0.003, "0.003"),
        (0.5, "0.50"),
    ],
)
def test_rounding_is_no_difference(number, said):
    assert difference_text(number) == said


def test_chosen_dimensions_are_drawn_as_curves():
    app = open_page(model="hotel-zh", view="table", picture="curves")
    app.multiselect(key="dimensions-64").set_value([1, 5])
    [curves] = figures(again(app))
    assert [curve["name"] for curve in curves["data"]] == ["dimension 1", "dimension 5"]
    app.toggle(key="all-dimensions").set_value(True)
    assert len(figures(again(app))[0]["data"]) == 64


@pytest.mark.parametrize("measure", ["cosine", "dot"])
def test_similarity_is_largest_at_no_distance(measure):
    app = open_page(model="hotel-zh", view="table", picture="similarity", measure=measure)
    heatmap, profile = figures(app)[0]["data"]
    assert_allclose(np.diag(array(heatmap["z"])), 1 if measure == "cosine" else 32, rtol=1e-5)
    assert array(profile["y"]).argmax() == 0


def test_the_error_of_the_rotation_is_rounding():
    app, error = (
        open_page(model="hotel-zh", view="rotation"),
        r"Largest error: \*\*0 \(rounding: \de-1[3-9]\)\*\*",
    )
    assert re.search(error, shown(app))
    assert not app.metric
    before = figures(app)[0]["layout"]["annotations"][0]["text"]
    app.slider(key="k").set_value(9)
    assert re.search(error, shown(again(app)))
    assert figures(app)[0]["layout"]["annotations"][0]["text"] != before
    assert app.query_params["k"] in ("9", ["9"])


def test_a_learned_table_stands_among_the_kinds_and_one_hot_ends_where_its_dimensions_do():
    app = open_page(model="small", view="kinds", width="16", length="20")
    titles = [note["text"] for note in figures(app)[0]["layout"]["annotations"]]
    assert "<b>learned (small)</b>" in titles
    assert len(titles) == 7
    assert "for positions from 16 on" in shown(app)
    one_hot = array(figures(app)[0]["data"][2]["z"])
    assert_array_equal(one_hot[:16], np.eye(16))
    assert np.isnan(one_hot[16:]).all()


def test_rotary_and_relative_positions_are_shown_as_what_they_do_to_the_scores():
    tables = tables_of_kinds(16, 20)
    query, key, pair = 9, 4, 3
    rates = sinusoidal_rates(16)
    vector = np.array([0.6, 0.8])

    def turned(position):
        cos, sin = np.cos(position * rates[pair]), np.sin(position * rates[pair])
        return np.array([[cos, -sin], [sin, cos]]) @ vector

    assert_allclose(tables["rotary"][query - key, 2 * pair], turned(query) @ turned(key), atol=1e-6)
    relative = tables["relative"]
    assert_array_equal(relative[np.arange(16), np.arange(16)], 0)
    assert_array_equal(relative[:16], -relative[:16].T)
    assert_array_equal(relative[17, 17 - np.arange(2, 18)], [*range(2, 8), *[8] * 4, *[9] * 4, 10, 10])


@pytest.mark.parametrize(
    "address",
    [
        {"view": "../x"},
        {"do": "<b>"},
        {"seed": "-1"},
        {"seed": "9" * 40},
        {"view": "kinds", "width": "7", "length": "x"},
        {"view": "table", "rows": "99999"},
        {"do": "swap", "swap": "learned"},
        {"layer": "9", "head": "x"},
    ],
    ids=str,
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    app = open_page(model="hotel-zh", **address)
    assert figures(app) or panels(app)
    assert not app.error


@pytest.mark.parametrize("text", ["", "  ", "<br />"])
def test_no_words_are_a_hint_and_no_picture(text):
    app = open_page(model="attention-only")
    app.text_input(key="sentence").set_value(text)
    again(app)
    assert not panels(app)
    assert not pages.components(app, "bars")
    assert app.info


@pytest.mark.parametrize("text", ["film", "<b>x</b> $y$ :red[z]", "good film " * 300])
@pytest.mark.parametrize("name", ["attention-only", "induction"])
def test_whatever_a_person_types_gives_pictures(text, name):
    app = open_page(model=name, text=text)
    assert len(panels(app)) == 3
    assert len(pages.components(app, "bars")) == 1
    assert not app.error


def test_the_sentence_stays_from_page_to_page():
    app = open_page(model="hotel-zh")
    app.text_input(key="sentence").set_value("早餐很好。")
    again(app)
    pages.go_to_page(app, "attention")
    assert app.text_input(key="sentence").value == "早餐很好。"


def test_another_model_has_the_actions_that_fit_it():
    app = open_page(model="hotel-zh", do="remove")
    app.selectbox(key="model").set_value("attention-only")
    again(app)
    assert app.segmented_control(key="do").value == "shuffle"


def test_the_page_speaks_chinese():
    app = open_page(model="hotel-zh", lang="zh")
    assert app.header[0].value == "模型如何知道词序？"
    assert "没有位置编码时" in shown(app)


def test_without_any_model_the_page_says_how_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    assert "There is no model to inspect yet" in shown(open_page())
