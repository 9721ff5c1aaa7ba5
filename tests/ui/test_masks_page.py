"""The Masks page, run by Streamlit's own test harness against a real engine."""

import base64
import json
from types import SimpleNamespace

import numpy as np
import pages
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, shown
from running_app import ROOT
from shelf import shelved
from streamlit.testing.v1 import AppTest
from transformer_viz.ui.pages.masks.choice import stroked, take_strokes
from transformer_viz.ui.pages.masks.sides import Head

from transformer_viz.analysis import future_share, mask_to_bits, named_mask, padding_share
from transformer_viz.values.request import Request

TEXT = "A dull film."

SHELF = ROOT / "models"

pytestmark = pytest.mark.usefixtures("engine", "decoders")


def open_page(**address):
    head = {"layer": "1", "head": "1"}
    return pages.open_page("masks", **{"model": "small", "text": TEXT} | head | address)


def choose(app, key, value):
    app.segmented_control(key=key).set_value(value).run()
    assert not app.exception
    return app


def panels(app):
    """Return what each matrix on the page is drawn from."""
    drawn = [json.loads(each.proto.json) for each in pages.components(app, "panels")]
    return drawn[0]["panels"] if drawn else []


def bars(app):
    """Return what the probabilities before and after are drawn from."""
    [drawn] = pages.components(app, "bars")
    return json.loads(drawn.proto.json)


def matrices(app):
    """Return the values of all matrices on the page."""
    return [matrix(panel) for panel in panels(app)]


def matrix(panel):
    values = np.frombuffer(base64.b64decode(panel["values"]), np.float32)
    return values.reshape(len(panel["rows"]), len(panel["columns"]))


def blocks(block):
    """Return the containers in a container, and those in them."""
    inner = [child for child in block.children.values() if hasattr(child, "children")]
    return inner + [each for child in inner for each in blocks(child)]


def bits(app):
    """Return the painted mask as it stands in the address."""
    value = app.query_params["bits"]
    return value[0] if isinstance(value, list) else value


def test_the_four_steps_stand_in_the_order_of_the_computation(explorer):
    trace = explorer.trace(TEXT, attention_mask="causal")
    attention, mask = trace.encoder[0].attention, np.tri(4, dtype=bool)
    scores, drawn_mask, masked, weights = matrices(open_page())
    assert_allclose(scores, attention.scores[0], atol=1e-6)
    assert_array_equal(np.isnan(drawn_mask), ~mask)
    assert_allclose(masked, np.where(mask, attention.scores[0], np.nan), atol=1e-6)
    assert_allclose(weights, np.where(mask, attention.weights[0], np.nan), atol=1e-6)


def test_both_matrices_of_scores_share_one_scale_around_zero():
    scores, _, masked, _ = panels(open_page())
    assert scores["limit"] == masked["limit"] > 0
    assert scores["signed"]
    assert masked["signed"]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ({"mask": "own"}, "none"),
        ({"mask": "none"}, "none"),
        ({"mask": "padding", "pads": "3"}, "padding"),
        ({"mask": "own", "pads": "3"}, "padding"),
        ({"mask": "padding", "pads": "3", "causal": "true"}, "padding+causal"),
        ({"mask": "window"}, "window:1"),
        ({"mask": "window", "reach": "2"}, "window:2"),
    ],
)
def test_an_address_opens_the_page_with_its_mask(explorer, address, name):
    pads = int(address.get("pads", 0))
    trace = explorer.trace(TEXT, attention_mask=name, padding=pads)
    app = open_page(head="2", layer="2", **address)
    weights = matrices(app)[3]
    assert_array_equal(np.isnan(weights), ~named_mask(name, 4 + pads, trace.token_ids))
    assert_allclose(np.nan_to_num(weights), trace.encoder[1].attention.weights[1], atol=1e-6)


@pytest.mark.parametrize(
    "address",
    [{"mask": "../x"}, {"mask_view": "x"}, {"pads": "99"}, {"reach": "x"}, {"mask": "painted", "bits": "zz"}],
)
def test_an_address_somebody_made_up_opens_the_page_all_the_same(address):
    assert len(matrices(open_page(**address))) == 4


def test_the_change_is_the_difference_of_both_runs(explorer):
    both = [explorer.trace(TEXT, padding=3, attention_mask=name) for name in ("none", "padding")]
    expected, own = (trace.encoder[0].attention.weights[0] for trace in both)
    app = open_page(mask="none", pads="3", mask_view="change")
    other, chosen, difference = matrices(app)
    assert_allclose(chosen, expected, atol=1e-6)
    assert_array_equal(np.isnan(other), np.tile([False] * 4 + [True] * 3, (7, 1)))
    assert_allclose(difference, expected - own, atol=1e-6)
    first, second, third = panels(app)
    assert first["limit"] == second["limit"]
    assert third["signed"]


def test_the_meters_say_where_the_weight_goes(explorer):
    both = [explorer.trace(TEXT, padding=3, attention_mask=name) for name in ("none", "padding")]
    none, own = (trace.encoder[0].attention.weights[0] for trace in both)
    padding = np.arange(7) > 3
    share = f"{padding_share(none, padding, padding):.1%}"
    text = shown(open_page(mask="none", pads="3"))
    assert share != "0.0%"
    assert f"[PAD] gets **{share}** (with the model's own mask 0.0%)." in text
    later = [f"{future_share(weights[:4]):.1%}" for weights in (none, own)]
    assert f"Later tokens get **{later[0]}** (with the model's own mask {later[1]})." in text
    assert "masked entirely" not in text


def test_only_what_takes_or_lost_weight_is_measured():
    future = shown(open_page())
    assert "Later tokens get" in future
    assert "[PAD] gets" not in future
    assert "masked entirely" not in future


def test_with_nothing_to_measure_no_box_stands_empty():
    app = open_page(model="translator", target="one two", kind="cross", mask="none", pads="0")
    assert "Where does this head's weight go?" not in shown(app)
    assert "How does the prediction change?" in shown(app)
    [effects] = [block for block in blocks(app.main) if "mask-effects" in getattr(block.proto, "id", "")]
    assert len(effects.children) == 1


def test_the_prediction_before_and_after_stands_in_words_and_bars(explorer):
    before, after = explorer.trace(TEXT).probs, explorer.trace(TEXT, attention_mask="window:0").probs
    app = open_page(mask="window", reach="0")
    best = before.argmax()
    assert f"{before[best]:.1%}" in shown(app)
    drawn = bars(app)
    first, second = ([row[side] for row in drawn["rows"]] for side in ("before", "after"))
    order = np.argsort(-np.maximum(before, after), kind="stable")
    kept = [i for rank, i in enumerate(order) if rank < 2 or max(before[i], after[i]) > 0.005]
    assert_allclose(first, before[kept], atol=1e-6)
    assert_allclose(second, after[kept], atol=1e-6)
    assert drawn["labels"] == {"before": "the model's own mask", "after": "the window mask"}


def test_a_mask_that_hides_nothing_is_said_to_change_nothing():
    app = open_page(mask="padding")
    assert "This mask hides nothing here, so nothing changes." in shown(app)


def test_the_page_opens_on_the_head_that_a_causal_mask_changes_most(explorer):
    app = open_page(layer="", head="")
    layers = explorer.trace(TEXT).encoder
    ahead = [np.triu(block.attention.weights, 1).sum(axis=(1, 2)) for block in layers]
    chosen = app.session_state["layer"] - 1, app.session_state["head"] - 1
    assert ahead[chosen[0]][chosen[1]] == max(map(max, ahead))
    assert chosen != (0, 0)  # where the other pages open
    assert [app.query_params[name] for name in ("layer", "head")] == [str(each + 1) for each in chosen]


def test_both_ways_to_mask_stand_with_the_sums_of_their_rows():
    app = open_page(mask="causal", mask_view="ways")
    added, multiplied = panels(app)
    assert_allclose(added["sums"]["values"], np.ones(4), atol=1e-6)
    sums = np.array(multiplied["sums"]["values"])
    assert_allclose(sums, np.nansum(matrix(multiplied), axis=-1), atol=1e-6)
    assert (sums[:-1] < 0.999).all()
    assert f"adds up to only **{sums.min():.2f}**" in shown(app)


def view(name, sides):
    """The script of a page that is nothing but one view of two heads."""
    from transformer_viz.ui.pages.masks.views import VIEWS

    VIEWS[name](*sides)


@pytest.mark.parametrize(("score", "is_little"), [(-9.0, True), (-1.0, False)])
def test_of_a_head_that_reads_little_of_what_is_masked_it_is_said_that_nothing_is_seen(score, is_little):
    tokens, mask, pads = ["a", "b", "c"], np.ones((3, 3), bool), np.zeros(3, bool)
    mask[:, 2] = False
    scores = np.where(mask, 0, score).astype(np.float32)
    weights = [
        np.exp(each) / np.exp(each).sum(axis=-1, keepdims=True)
        for each in (np.where(mask, scores, -99), scores)
    ]
    sides = [
        Head(name, scores, found, allowed, tokens, tokens, pads, pads, True)
        for name, found, allowed in zip(("causal", "own"), weights, (mask, mask | True), strict=True)
    ]
    said = shown(AppTest.from_function(view, args=("ways", sides)).run())
    assert ("This head puts hardly any weight on what the mask hides" in said) is is_little
    assert ("adds up to only" in said) is not is_little
    *_, difference = panels(AppTest.from_function(view, args=("change", sides)).run())
    largest = np.nanmax(np.abs(matrix(difference)))
    assert difference["limit"] == pytest.approx(0.01 if is_little else largest)
    assert bool(largest < 0.01) is is_little


def test_a_row_that_may_read_nothing_is_said_to_fail_differently():
    mask = np.ones((4, 4), bool)
    mask[2] = False
    app = open_page(mask="painted", bits=mask_to_bits(mask), mask_view="ways")
    assert "The row of “film” is masked entirely." in shown(app)
    assert "the weights still sum to 1, and the largest is 25%." in shown(app)
    assert_allclose(matrices(app)[0][2], 0.25)
    assert np.isnan(matrices(app)[1][2]).all()
    assert "**1** of 4 rows are masked entirely (with the model's own mask 0)." in shown(app)


def test_a_painted_mask_begins_as_the_one_before_and_can_be_inverted_cleared_and_undone(explorer):
    app = choose(open_page(), "mask", "painted")
    causal = np.tri(4, dtype=bool)
    assert bits(app) == mask_to_bits(causal)
    app.button(key="paint-invert").click()
    again(app)
    assert bits(app) == mask_to_bits(~causal)
    weights = explorer.trace(TEXT, attention_mask=~causal).encoder[0].attention.weights[0]
    assert_allclose(np.nan_to_num(matrices(app)[3]), weights, atol=1e-6)
    app.button(key="paint-clear").click()
    again(app)
    assert bits(app) == "ffff"
    for _ in range(2):
        app.button(key="paint-undo").click()
        again(app)
    assert bits(app) == mask_to_bits(causal)
    assert app.button(key="paint-undo").disabled
    assert "bits" not in choose(app, "mask", "none").query_params


def test_a_stroke_frees_or_masks_all_cells_of_its_box():
    mask = np.array([[True, False], [False, False]])
    assert_array_equal(stroked(mask, [0, 0, 0, 1], may=False), np.zeros((2, 2), bool))
    assert_array_equal(stroked(mask, [0, 1, 1, 1], may=True), [[True, True], [False, True]])
    assert_array_equal(mask, [[True, False], [False, False]])


def test_strokes_that_come_again_are_painted_once_and_undone_one_by_one(monkeypatch):
    painted = {"shape": (2, 2), "history": ["8"], "applied": 0}
    monkeypatch.setattr("streamlit.session_state", SimpleNamespace(painted=painted))
    first, second, third = [5, [0, 1, 0, 1], True], [7, [1, 1, 1, 1], True], [8, [0, 1, 0, 1], False]
    take_strokes([first])
    take_strokes([first, second, third])
    take_strokes([third])
    assert painted["history"] == ["8", "c", "d", "9"]
    assert painted["applied"] == 8


def test_the_strokes_of_another_sentence_leave_a_new_mask_alone(monkeypatch):
    painted = {"shape": (2, 2), "history": ["8"], "applied": 0}
    monkeypatch.setattr("streamlit.session_state", SimpleNamespace(painted=painted))
    take_strokes([[1, [5, 5, 6, 6], True]])
    assert painted["history"][-1] == "8"


@pytest.mark.parametrize("view", ["change", "ways"])
def test_a_view_without_a_brush_leads_to_the_one_that_has_it(view):
    app = open_page(mask="painted", mask_view=view)
    assert not [button for button in app.button if button.key == "paint-invert"]
    app.button(key="paint-here").click()
    again(app)
    assert app.segmented_control(key="mask_view").value == "steps"
    assert "mask_view" not in app.query_params
    assert app.button(key="paint-invert")
    assert panels(app)[1]["paint"] is not None


def test_the_padding_mask_comes_with_some_padding():
    app = choose(open_page(), "mask", "padding")
    assert app.slider(key="pads").value == 4
    assert matrices(app)[0].shape == (8, 8)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_each_attention_of_an_encoder_decoder_is_masked_for_itself(translator, kind):
    field, pad = {
        "encoder": ("attention_mask", "padding"),
        "decoder": ("target_attention_mask", "target_padding"),
        "cross": ("cross_attention_mask", "padding"),
    }[kind]
    mask, name = ("none", "none") if kind == "cross" else ("window", "window:1")
    address = {"kind": kind, "mask": mask, "pads": "2", "layer": "2"}
    app = open_page(model="translator", target="one two three", **address)
    trace = translator.trace(TEXT, target="one two three", **{field: name, pad: 2})
    attention = {
        "encoder": trace.encoder[1].attention,
        "decoder": trace.decoder[1].self_attention,
        "cross": trace.decoder[1].cross_attention,
    }[kind]
    assert_allclose(np.nan_to_num(matrices(app)[3]), attention.weights[0], atol=1e-6)
    assert ("Later tokens" in shown(app)) == (kind != "cross")


@pytest.mark.parametrize("mask", [None, "causal", "window", "own", "none", "painted"])
def test_no_mask_of_two_sequences_speaks_of_time(mask):
    address = {"mask": mask} if mask else {}
    app = open_page(model="translator", target="one two three", kind="cross", **address)
    control = app.segmented_control(key="mask")
    assert control.options == ["the model's own", "padding", "none", "painted"]
    assert control.value == (mask if mask in ("own", "none", "painted") else "padding")
    assert [each.key for each in app.toggle] == ["projector"]
    assert np.isnan(matrices(app)[3]).any() == (control.value == "padding")


def test_two_sequences_begin_with_some_padding_that_can_be_taken_away():
    app = open_page(model="translator", target="one two three")
    assert app.slider(key="pads").value == 4
    assert np.isnan(matrices(app)[1][:, -4:]).all()
    app.slider(key="pads").set_value(0)
    again(app)
    assert matrices(app)[0].shape == (4, 4)
    [pads] = app.query_params["pads"]
    app = open_page(model="translator", target="one two three", pads=pads)
    assert app.slider(key="pads").value == 0


def test_from_one_sequence_to_two_a_causal_mask_becomes_one_of_padding():
    app = open_page(model="translator", target="one two three", kind="encoder")
    assert app.segmented_control(key="mask").value == "causal"
    app.session_state["kind"] = "cross"
    again(app)
    assert app.segmented_control(key="mask").value == "padding"
    assert np.isnan(matrices(app)[1]).any()


def predict(sides):
    """The script of a page that says nothing but what becomes of a prediction."""
    from types import SimpleNamespace

    from transformer_viz.ui.pages.masks.effect import show_prediction

    show_prediction(SimpleNamespace(card={}), *sides)


def written(before, after):
    """Return what is said of two runs that write with those probabilities."""
    tokens = ["▁a", "▁b", "▁c"]
    sides = [
        SimpleNamespace(
            name=name,
            equals=lambda other: False,
            trace=SimpleNamespace(
                probs=np.array(probs, np.float32),
                labels=["x", "y"],
                labels_are_spaced=False,
                encoder=[],
                decoder=[1],
                read=np.ones(3, bool),
                tokens=tokens,
            ),
        )
        for name, probs in (("window", after), ("own", before))
    ]
    app = AppTest.from_function(predict, args=(sides,)).run()
    assert not app.exception
    return "\n".join(element.value for element in app.markdown), app


SURE = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]


def test_where_the_likeliest_token_stays_the_same_it_is_not_said_to_become_itself():
    said, _ = written(SURE, [[0.8, 0.2], [0.2, 0.8], [0.7, 0.3]])
    assert "stays the same at every position. The largest change: “x” after “a”, 90.0% → 80.0%." in said
    assert "**0**" not in said


def test_the_place_that_is_named_is_one_where_something_else_is_written():
    said, _ = written(SURE, [[0.55, 0.45], [0.2, 0.8], [0.45, 0.55]])
    assert "At **1** of 3 positions the model now predicts another token" in said
    assert "after “c”: **y** (55.0%) instead of **x** (70.0%)" in said


def test_probabilities_that_stay_are_said_to_and_not_drawn():
    said, app = written(SURE, SURE)
    assert "Nothing changes: no probability moves" in said
    assert not pages.components(app, "bars")


def test_a_decoder_without_its_mask_reads_the_future(writer):
    app = open_page(model="writer", mask="none")
    trace = writer.trace(TEXT, attention_mask="none")
    assert_allclose(matrices(app)[3], trace.decoder[0].self_attention.weights[0], atol=1e-6)
    own = open_page(model="writer", mask="own")
    assert "Later tokens get **0.0%** (with no mask " in shown(own)


def test_a_long_text_cannot_be_painted_and_is_named_in_blocks(monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.pages.masks.choice.MAX_PAINTED", 10)
    monkeypatch.setattr("transformer_viz.ui.pages.masks.views.MAX_CELLS", 10)
    app = open_page(text="good film " * 12, mask="painted")
    assert "painted for up to 10 tokens; here there are 23." in shown(app)
    assert "painted" not in app.segmented_control(key="mask").options
    assert "each cell is the mean of 3 × 3 tokens" in shown(app)
    assert matrices(app)[0].shape == (8, 8)
    assert panels(app)[0]["columns"][-1] == "film … good ⋯"


@pytest.mark.parametrize("text", ["", "  "])
def test_no_sentence_is_a_hint_and_no_picture(text):
    app = open_page()
    app.text_input(key="sentence").set_value(text)
    again(app)
    assert not panels(app)
    assert "Type a sentence above" in shown(app)


def test_markup_in_a_sentence_stays_text():
    app = open_page(text="film :red[x] <b>$y$")
    assert "< [UNK]" in panels(app)[0]["columns"]  # the panel sets it as text
    assert "<b>" not in shown(app)


@pytest.mark.parametrize("view", ["steps", "change", "ways"])
def test_every_view_speaks_chinese(view):
    app = open_page(lang="zh", mask_view=view, mask="padding", pads="2")
    assert app.header[0].value == "每个词元可以关注哪些词元？"
    assert "这个头的权重去了哪里？" in shown(app)
    assert [expander.label for expander in app.expander] == ["说明"]


def test_without_any_model_the_page_says_how_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    assert "There is no model to inspect yet" in shown(open_page())


@pytest.mark.parametrize("model", ["attention-only", "hotel-zh", "induction", "reverse-digits"])
@pytest.mark.parametrize("view", ["steps", "change", "ways"])
def test_the_shipped_models_are_shown_on_their_own_examples(shipped, model, view):
    app = pages.open_page("masks", model=model, mask_view=view)
    assert not app.error
    assert len(matrices(app)) == {"steps": 4, "change": 3, "ways": 2}[view]


@pytest.mark.parametrize(
    ("kind", "mask", "field", "name"),
    [("encoder", "causal", "attention_mask", "causal"), ("cross", "none", "cross_attention_mask", "none")],
)
def test_what_is_written_with_a_mask_is_what_python_writes(shipped, engine, kind, mask, field, name):
    """The matrices are compared on the target of the model as it is; beside it stands the other one."""
    address = {"model": "reverse-digits", "text": "1 2 3 4 5", "layer": "1", "head": "1", "pads": "3"}
    app = pages.open_page("masks", **address, kind=kind, mask=mask)
    explorer = shelved("reverse-digits")
    own, changed = (explorer.trace("1 2 3 4 5", padding=3, **change) for change in ({}, {field: name}))
    held = explorer.trace("1 2 3 4 5", target=own.target_ids[1:].tolist(), padding=3, **{field: name})
    attention = held.encoder[0].attention if kind == "encoder" else held.decoder[0].cross_attention
    assert_allclose(np.nan_to_num(matrices(app)[3]), attention.weights[0], atol=1e-6)
    with_mask = {"causal": "with the causal mask", "none": "with no mask"}[mask]
    if changed.target_text == own.target_text:
        assert f"with either mask, the target is **{own.target_text}**." in shown(app)
    else:
        said = f"{with_mask}, the target is **{changed.target_text}**; with the model's own mask it is **"
        assert said + f"{own.target_text}**." in shown(app)
    request = Request.of("reverse-digits", "1 2 3 4 5", padding=3, **{field: name})
    assert engine.answer(request).target_text == changed.target_text
    assert (changed.target_text == own.target_text) == (kind == "cross")


@pytest.mark.parametrize(
    "address",
    [{"target": "5 4"}, {"kind": "cross", "mask": "painted", "bits": "0"}, {"mask": "own", "pads": "0"}],
)
def test_nothing_is_said_to_be_written_where_no_other_target_fits(shipped, address):
    app = pages.open_page("masks", model="reverse-digits", text="1 2", **{"kind": "encoder"} | address)
    assert not app.error
    assert "the target is" not in shown(app)


def test_padding_nobody_masks_turns_a_review_the_other_way(shipped):
    app = open_page(
        model="attention-only", head="1", text="This film was not good at all", mask="padding", pads="4"
    )
    assert "The prediction flips from **positive**" in shown(app)
    assert "(with the model's own mask 36.0%)" in shown(app)
