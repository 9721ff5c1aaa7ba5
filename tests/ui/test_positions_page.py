"""The Positions page: its experiment on the workbench, and its pictures of the encodings beside it."""

import re
import shutil

import numpy as np
import pages
import pytest
from bench import held, open_bench, texts_of
from chinese import english
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, array, figures, shown
from running_app import ROOT
from shelf import place_of

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.network.positions import position_table, sinusoidal_rates
from transformer_viz.trace.order import permutation_of, shuffled_order
from transformer_viz.trace.original_order import in_original_order
from transformer_viz.trace.request import Request
from transformer_viz.ui.pages.positions.kinds import tables_of_kinds
from transformer_viz.ui.workbench.positions import LAST_SEED, difference_text

ROUNDING = r"0( \(rounding: \de-0[6-9]\))?"
"""What is written for a difference that is none."""

SHIPPED = ("attention-only", "hotel-zh", "induction", "reverse-digits")


pytestmark = pytest.mark.usefixtures("engine", "shipped")


def open_page(**address):
    return pages.open_page("positions", **address)


def experiment(model, *, language="en", text=None, **chosen):
    """Return the workbench with the experiment, by default on the first example of the model."""
    given = {"experiment": {"page": "positions", **chosen}, "language": language}
    return open_bench(model, **given) if text is None else open_bench(model, text=text, **given)


def options(bench, name="do"):
    """Return what can be chosen, and what is."""
    [found] = [each for each in bench.menu["groups"] if each["name"] == name]
    return dict(found["options"]), found["chosen"]


def moved(bench):
    """Return the largest changes of attention that are stated, row by row."""
    return [row[1] for row in bench.menu["table"][1:]]


def notes(bench):
    return "\n".join(texts_of(bench.said["notes"]))


def offered(bench):
    """Return the models that buttons open."""
    return [each["open"] for each in bench.said["notes"] if "open" in each]


def test_the_experiment_opens_on_the_head_that_the_change_moves_most(engine):
    bench = experiment("induction", seed="2")
    request = Request.of("induction", bench.said["text"])
    before, after = map(engine.answer, (request, request.changed(order="shuffled:2")))
    order = permutation_of("shuffled:2", before.tokens)
    shares = [
        np.abs(in_original_order(two.weights, order) - one.weights).sum(axis=(1, 2))
        for one, two in zip(*(each.kinds()["decoder"].layers for each in (before, after)), strict=True)
    ]
    opening = np.unravel_index(np.argmax(shares), np.shape(shares))
    assert tuple(bench.facts("decoder")["opening"]) == opening


@pytest.mark.parametrize("name", [*SHIPPED, "small"])
@pytest.mark.parametrize("view", ["table", "rotation", "kinds"])
def test_every_view_of_every_model_is_a_picture(name, view):
    app = open_page(model=name, view=view)
    assert not app.error
    assert len(figures(app)) == 1
    assert app.segmented_control(key="view").value == view
    assert not pages.components(app, "workbench")


@pytest.mark.parametrize("name", [*SHIPPED, "small"])
def test_the_experiment_on_every_model_shows_both_runs(name):
    app = open_page(model=name)
    assert app.segmented_control(key="view").value == "experiment"
    assert len(pages.components(app, "workbench")) == 1
    assert not figures(app)
    bench = experiment(name)
    for found in bench.arrays.values():
        assert found["before"].shape == found["weights"].shape


@pytest.mark.parametrize("name", ["hotel-zh", "reverse-digits", "small"])
def test_with_positions_a_shuffle_changes_attention_and_without_it_changes_nothing(name):
    bench = experiment(name)
    own, without = moved(bench)
    assert float(own.removesuffix("%")) > 5
    assert re.fullmatch(ROUNDING, without)
    assert "Without position encoding, the same tokens get the same attention" in notes(bench)


def test_a_model_without_positions_is_shuffled_and_nothing_changes():
    bench = experiment("attention-only")
    [without] = moved(bench)
    assert re.fullmatch(ROUNDING, without)
    found = bench.arrays["encoder"]
    assert_allclose(found["before"], found["weights"], atol=1e-3)
    assert [*options(bench)[0].values()] == ["Shuffle tokens", "Replace encoding"]
    [[_, _, answers]] = bench.menu["table"][1:]
    [percents] = re.findall(r"negative ([\d.]+%) → negative ([\d.]+%)", answers)
    assert percents[0] == percents[1]


def test_what_was_shuffled_is_drawn_in_the_first_order(engine):
    bench = experiment("hotel-zh", seed="4")
    text = bench.said["text"]
    first = engine.answer(Request.of("hotel-zh", text))
    order = shuffled_order(len(first.tokens), 4)
    after = engine.answer(Request.of("hotel-zh", text, order=order))
    layers = [
        layer._replace(weights=in_original_order(layer.weights, order))
        for layer in after.kinds()["encoder"].layers
    ]
    assert_array_equal(bench.arrays["encoder"]["before"], held(first.kinds()["encoder"].layers))
    assert_array_equal(bench.weights(), held(layers))
    assert bench.facts()["queryTokens"] == [*first.tokens]
    best = first.probs.argmax()
    assert texts_of(bench.said["answer"])[0] == f"**{first.labels[best]}** {after.probs[best]:.1%}"
    assert f"{after.probs.max():.1%}" in bench.menu["table"][1][2]


def test_another_shuffle_is_another_order_and_stands_in_the_address():
    bench = experiment("hotel-zh")
    first, again = bench.weights(), bench.menu["again"]
    assert bench.kept == {}
    assert again == {"label": "Shuffle again", "name": "seed", "value": "1"}
    bench.choose(seed=again["value"])
    assert bench.kept == {"seed": "1"}
    assert np.abs(bench.weights() - first).max() > 1e-3
    assert bench.menu["again"]["value"] == "2"


def test_after_the_last_shuffle_comes_one_of_the_first():
    bench = experiment("hotel-zh", seed=str(LAST_SEED))
    assert int(bench.menu["again"]["value"]) < LAST_SEED
    assert experiment("hotel-zh", do="remove").menu["again"] is None


def test_a_decoder_is_causal_and_the_page_says_so():
    bench = experiment("induction")
    assert "A decoder attends only to earlier tokens" in notes(bench)
    assert re.search(r"Read in this order: “[a-z]( [a-z])+”", notes(bench))
    found = bench.arrays["decoder"]
    before, after = (found[name][0, 0] > 0 for name in ("beforeMask", "mask"))
    order = permutation_of("shuffled:0", bench.facts("decoder")["queryTokens"])
    assert_array_equal(before, np.tri(len(before), dtype=bool))
    assert_array_equal(after, in_original_order(before, order))
    assert (after != before).any()
    assert not found["weights"][..., ~after].any()


def test_without_positions_an_encoder_decoder_writes_something_else(engine):
    bench = experiment("reverse-digits", do="remove")
    text = bench.said["text"]
    written = engine.answer(Request.of("reverse-digits", text, positions="none")).target_text
    assert written != text[::-1]
    assert bench.menu["table"][1][2] == f"“{text[::-1]}” → “{written}”"


def test_a_target_that_was_typed_on_another_page_is_left_out():
    typed = open_bench("reverse-digits", target="5 5", experiment={"page": "positions"})
    assert typed.menu["table"] == experiment("reverse-digits").menu["table"]


def test_another_table_is_put_in(engine):
    bench = experiment("hotel-zh", do="swap")
    kinds, chosen = options(bench, "swap")
    assert chosen == "sinusoidal-halves"
    assert "one-hot" not in kinds
    after = engine.answer(Request.of("hotel-zh", bench.said["text"], positions="sinusoidal-halves"))
    assert_array_equal(bench.weights(), held(after.kinds()["encoder"].layers))
    assert bench.kept == {"do": "swap"}
    assert experiment("small", do="swap", swap="none").kept == {"do": "swap"}


def test_each_change_asks_a_question_of_its_own():
    asked = [experiment("hotel-zh", do=do).menu["asks"] for do in ("shuffle", "remove", "swap")]
    assert [each["said"] for each in asked] == [
        "Does word order matter?",
        "What happens without position encoding?",
        "Does another position encoding work as well?",
    ]
    assert all(each["tip"] for each in asked)


def test_the_table_is_the_models_own(small_model, small_config):
    learned = np.asarray(small_model.embedding.position_table())
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


@pytest.fixture
def similar(models_folder):
    """A model that differs from attention-only in its positions, beside the others."""
    shutil.copytree(place_of("position-attention"), models_folder / "position-attention")
    yield "position-attention"
    shutil.rmtree(models_folder / "position-attention")


def test_without_positions_a_model_like_it_is_opened_with_the_same_text(similar):
    bench = experiment("attention-only")
    assert "This model has no position encoding" in notes(bench)
    assert offered(bench) == [similar, "small"]  # hotel-zh reads Chinese
    assert "Open position-attention" in texts_of(bench.said["notes"])
    other = experiment(similar, text=bench.said["text"])
    assert not offered(other)
    assert "no position encoding" not in notes(other)
    assert "Remove encoding" in options(other)[0].values()


def test_the_table_of_a_model_without_positions_leads_to_a_model_like_it(similar):
    app = open_page(model="attention-only", view="table")
    assert "This model has no position encoding" in app.info[0].value
    buttons = [button for button in app.button if (button.key or "").startswith("open-")]
    assert [button.label for button in buttons] == [r"Open position\-attention", "Open small"]
    buttons[0].click()
    again(app)
    assert app.selectbox(key="model").value == "position-attention"
    assert not app.info


def test_where_no_model_has_positions_none_is_offered(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "models" / "attention-only", tmp_path / "attention-only")
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    app = open_page(view="table")
    assert "has no position encoding" in app.info[0].value
    assert not [button for button in app.button if (button.key or "").startswith("open-")]
    bench = experiment("attention-only")
    assert "This model has no position encoding" in notes(bench)
    assert not offered(bench)


def test_a_decoder_without_positions_is_not_said_to_be_blind_to_the_order(models_folder):
    stored = store.read_model("induction")
    blind = stored.config.replace(positions="none")
    store.write_model(
        "blind", config=blind, tokenizer=stored.tokenizer, parameters=stored.parameters, card={}
    )
    bench = experiment("blind", text="a b c a b")
    shutil.rmtree(models_folder / "blind")
    assert "only from its mask" in notes(bench)
    assert "only reorders" not in notes(bench)


@pytest.mark.parametrize(
    ("name", "language", "kind", "named"),
    [
        ("reverse-digits", "en", "encoder", "encoder self-attention"),
        ("induction", "en", "decoder", "masked self-attention"),
        ("hotel-zh", "zh", "encoder", "编码器自注意力"),
    ],
)
def test_the_page_says_whose_attention_it_shows_and_names_rows_and_columns(name, language, kind, named):
    bench = experiment(name, language=language)
    assert bench.facts(kind)["name"] == named
    rows = Words(language)("heatmap.query" if kind == "encoder" else "heatmap.writes")
    assert bench.facts(kind)["queryTitle"] == rows
    assert bench.views["words"]["key"] == Words(language)("lens.key")


def test_what_was_shuffled_stands_in_quotation_marks_of_the_language():
    assert re.search("按此顺序读入：“[^*_]+”", notes(experiment("hotel-zh", language="zh")))


def test_the_table_states_a_change_with_positions_and_without():
    head, *rows = experiment("hotel-zh").menu["table"]
    assert head == ["", "largest change of a weight, all heads", "prediction before → after"]
    assert [row[0] for row in rows] == ["with position encoding", "without position encoding"]
    assert [row[0] for row in experiment("hotel-zh", do="remove").menu["table"][1:]] == ["after this change"]
    assert [row[0] for row in experiment("attention-only").menu["table"][1:]] == ["without position encoding"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.0, "0"),
        (6e-8, "0 (rounding: 6e-08)"),
        (9e-6, "0 (rounding: 9e-06)"),
        (2e-5, "<0.1%"),
        (0.003, "0.3%"),
        (0.5, "50%"),
    ],
)
def test_rounding_is_no_difference(number, said):
    assert difference_text(Words("en"), number) == said


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
    [{"view": "../x"}, {"view": "kinds", "width": "7", "length": "x"}, {"view": "table", "rows": "99999"}],
    ids=str,
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    app = open_page(model="hotel-zh", **address)
    assert figures(app) or pages.components(app, "workbench")
    assert not app.error


@pytest.mark.parametrize(
    "chosen",
    [{"do": "<b>"}, {"seed": "-1"}, {"seed": "9" * 40}, {"seed": "x"}, {"do": "swap", "swap": "learned"}],
    ids=str,
)
def test_a_choice_somebody_made_up_is_the_usual_one(chosen):
    bench, usual = experiment("hotel-zh", **chosen), experiment("hotel-zh", do=chosen.get("do", ""))
    assert_array_equal(bench.weights(), usual.weights())
    assert bench.kept == usual.kept


@pytest.mark.parametrize("text", ["", "  ", "<br />"])
def test_no_words_are_a_hint_and_no_picture(text):
    bench = experiment("attention-only", text=text)
    assert bench.views is None
    assert bench.header["hint"]


@pytest.mark.parametrize("text", ["film", "<b>x</b> $y$ :red[z]", "good film " * 300])
@pytest.mark.parametrize("name", ["attention-only", "induction"])
def test_whatever_a_person_types_gives_both_runs(text, name):
    bench = experiment(name, text=text)
    for found in bench.arrays.values():
        assert found["before"].shape == found["weights"].shape
    assert len(bench.said["before"]["answer"]) == 1
    assert len(bench.said["answer"]) >= 1


def test_the_sentence_stays_from_page_to_page():
    bench = experiment("hotel-zh").say("早餐很好。")
    assert bench.seat.shown.text == "早餐很好。"
    assert bench.seat.shown.changes == ""


def test_another_model_has_the_actions_that_fit_it():
    bench = experiment("attention-only", do="remove")
    assert options(bench)[1] == "shuffle"
    assert bench.kept == {}


@pytest.mark.parametrize("do", ["shuffle", "remove", "swap"])
def test_the_page_speaks_chinese(do):
    app = open_page(model="hotel-zh", lang="zh")
    assert app.header[0].value == "模型如何知道词序？"
    bench = experiment("hotel-zh", language="zh", do=do)
    assert ("没有位置编码时" in notes(bench)) == (do == "shuffle")
    menu = bench.menu
    said = [text for each in menu["groups"] for text in (each["label"], each["tip"])]
    said += [text for each in menu["groups"] for _, text in each["options"]]
    said += [*menu["asks"].values(), *(text for row in menu["table"] for text in row), notes(bench)]
    assert not [word for text in said for word in english(text)]


def test_without_any_model_the_page_says_how_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    assert "There is no model to inspect yet" in shown(open_page())
