"""The Writing page: what it shows of each step, and what a press does; in a browser, with shipped models."""

import base64
import json
import re

import numpy as np
import pytest
import streamlit
from lens_page import settle
from numpy.testing import assert_allclose, assert_array_equal
from pages import again, go_to_page, open_page, press, shown
from playwright.sync_api import expect

from transformer_viz import store
from transformer_viz.explorer.beams import LENGTH_PENALTY, BeamRequest
from transformer_viz.explorer.decode import generate, search
from transformer_viz.explorer.sampling import possible
from transformer_viz.network.config import END_ID, PAD_ID, START_ID, TransformerConfig
from transformer_viz.ui.pages.writing.steps import BEFORE, KEY, Steps, act
from transformer_viz.ui.pages.writing.views import MOST_STEPS
from transformer_viz.ui.shell.card_facts import config_of

TEXT = "a lovely film"

MOST = 12

pytestmark = pytest.mark.usefixtures("engine", "decoders")


@pytest.fixture(params=["translator", "writer"])
def speaker(request):
    return request.getfixturevalue(request.param)


def step_on(app, view="writing"):
    """Return the step, or the tree, as the page gives it to the browser."""
    [found] = [each for each in app.get("bidi_component") if each.proto.component_name.endswith(view)]
    return json.loads(found.proto.json)


def opened(explorer, written="", **address):
    return open_page("writing", model=explorer.name, text=TEXT, written=written, **address)


def in_address(app, name):
    """Return a value of the address; the page writes lists of one, links have texts."""
    [value] = np.atleast_1d(app.query_params.get(name))
    return value


def numbers(text, kind=np.float32):
    return np.frombuffer(base64.b64decode(text), kind)


def trace_of(explorer, written):
    """Return the trace of the text with some written tokens."""
    if explorer.config.has_encoder:
        return explorer.trace(TEXT, target=list(written))
    return explorer.trace([*explorer.trace(TEXT).token_ids[1:], *written])


def log_probs(explorer, written):
    probs = trace_of(explorer, written).probs[-1].astype("f8")
    return possible(np.log(probs))


@pytest.mark.quick("translator-2", "writer-0", "writer-3")
@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_step_has_the_distribution_after_the_tokens_before_it(speaker, step):
    found = step_on(opened(speaker, f"5.7.6-{step}"))
    expected = log_probs(speaker, (5, 7, 6)[:step])
    order = np.argsort(-expected, kind="stable")
    assert found["step"] == step
    assert_array_equal(numbers(found["ids"], np.int32)[:-2], order[:-2])
    assert_allclose(numbers(found["ranked"])[:-2], expected[order][:-2], atol=1e-4)
    assert np.isneginf(numbers(found["ranked"])[-2:]).all()
    assert [each["rank"] for each in found["candidates"]] == [*range(len(expected) - 2)]
    assert found["chosen"] == (None if step == 3 else list(order).index((5, 7, 6)[step]))


def test_a_token_keeps_its_probability_and_its_rank(speaker):
    for number, chip in enumerate(step_on(opened(speaker, "5.7.6"))["chips"]):
        before = log_probs(speaker, (5, 7, 6)[:number])
        own = before[(5, 7, 6)[number]]
        assert_allclose(chip["share"], np.exp(own), rtol=1e-3)
        assert chip["rank"] == str(1 + (before > own).sum())


@pytest.mark.parametrize("step", [1, 3])
def test_a_step_shows_where_its_own_query_looked(speaker, step):
    found = step_on(opened(speaker, f"5.7.6-{step}"))["attention"]
    trace = trace_of(speaker, (5, 7, 6)[:step])
    kinds = ["cross", "decoder"] if speaker.config.has_encoder else ["decoder"]
    assert [*found] == kinds
    for kind in kinds:
        expected = np.stack([layer.weights[:, -1] for layer in trace.kinds()[kind].layers])
        assert len(found[kind]["tokens"]) == expected.shape[-1]
        assert_allclose(numbers(found[kind]["weights"]).reshape(expected.shape), expected, atol=1e-5)


def test_the_likeliest_token_at_each_step_is_greedy_decoding(speaker):
    written, expected = (), generate(speaker, TEXT, max_new=4, keep=None)
    while len(written) < 4 and END_ID not in written:
        step = step_on(opened(speaker, Steps(written, len(written)).text()))
        written = (*written, int(numbers(step["ids"], np.int32)[0]))
    assert written == (*expected.token_ids, *[END_ID] * expected.finished)


def test_after_the_end_nothing_more_is_written(speaker):
    app = opened(speaker, f"5.{END_ID}")
    step = step_on(app)
    assert "[END] was written" in step["note"]
    assert step["step"] == 1
    assert numbers(step["ids"], np.int32)[step["chosen"]] == END_ID
    assert in_address(app, "written") == f"5.{END_ID}-1" == step["of"]


def test_it_says_when_no_more_tokens_fit(translator):
    full = ".".join("5" * 17)
    step = step_on(opened(translator, full))
    assert "at most 17" in step["note"]
    assert (step["step"], len(step["chips"])) == (16, 17)
    assert step_on(opened(translator, full + ".5"))["chips"] == []


@pytest.mark.parametrize(
    "written", ["x", "5..6", "5.99", "-1", f"{PAD_ID}", f"5.{START_ID}", f"{END_ID}.5", "5-x"]
)
def test_a_link_that_names_no_tokens_opens_on_the_first_step(translator, written):
    step = step_on(opened(translator, written))
    assert (step["step"], step["chips"]) == (0, [])


@pytest.mark.parametrize(
    ("asked", "kept"),
    [("0.85-40-0.95", "0.85-40-0.95"), ("2-50-0.05", "2-50-0.05"), ("0-0-1", "0-0-1")]
    + [(wrong, "1-0-1") for wrong in ("2.5-0-1", "1-51-1", "1-0-0", "1-0-0.01", "nan-0-1", "1-0-1-1", "1")],
)
def test_the_settings_of_a_link_are_those_that_the_sliders_have(translator, asked, kept):
    app = opened(translator, sampling=asked)
    assert step_on(app)["settings"] == kept
    assert in_address(app, "sampling") == (None if kept == "1-0-1" else kept)


def test_what_was_written_for_another_text_is_dropped(translator):
    app = opened(translator, "5.7")
    app.text_input(key="sentence").set_value("not a good film")
    step = step_on(again(app))
    assert step["chips"] == []
    assert "written" not in app.query_params


def test_a_model_that_does_not_write_names_those_that_do():
    app = open_page("writing", model="small", text=TEXT)
    assert "small does not write" in shown(again(app))
    press(app, "translator · translates or rewrites a text")
    assert step_on(app)["attention"].keys() == {"cross", "decoder"}


def test_a_visitor_who_has_chosen_no_model_gets_one_that_writes():
    app = open_page()
    assert not config_of(store.find_model(app.session_state.model)).has_decoder
    assert step_on(go_to_page(app, "writing"))["chips"] == []
    assert config_of(store.find_model(app.session_state.model)).has_decoder


def test_of_a_long_text_only_what_is_read_stands_before_what_is_written(writer):
    app = open_page("writing", model="writer", text="a lovely film " * 20, written="5")
    step = step_on(app)
    assert step["prompt"] == ("a lovely film " * 20)[: len("a lovely film " * 7 + "a")]
    assert "at most 23" in step["note"]


def test_an_empty_text_is_asked_for(writer):
    app = open_page("writing", model="writer", text=" ")
    assert "Type" in shown(app)
    assert not [each for each in app.get("bidi_component") if each.proto.component_name.endswith("writing")]


@pytest.mark.quick("translator-1--before0", "writer-4-5.7-1-before2")
@pytest.mark.parametrize(("width", "written", "before"), [(1, "", ()), (2, "", ()), (4, "5.7-1", (5,))])
def test_the_tree_leads_to_the_text_of_a_beam_search(speaker, width, written, before):
    app = opened(speaker, written, writing_view="beams", beams=str(width))
    found, request = step_on(app, "beams"), BeamRequest(speaker.name, TEXT, before, width, MOST_STEPS)
    tree = search(speaker, request)
    best = [node for node in found["nodes"] if node["best"]]
    assert tuple(best[-1]["ids"]) == tree.ids(tree.best(LENGTH_PENALTY))
    if not before:
        expected = generate(speaker, TEXT, beam_size=width, max_new=MOST_STEPS, keep=None)
        assert best[-1]["ids"] == [*expected.token_ids, *[END_ID] * expected.finished]
        assert_allclose(best[-1]["score"], expected.score, atol=0.006)
    for number, node in enumerate(found["nodes"]):
        *parent, _ = node["ids"]
        assert parent == (found["nodes"][node["parent"]]["ids"] if node["parent"] >= 0 else [])
        own = np.exp(log_probs(speaker, (*before, *parent))[node["ids"][-1]])
        assert_allclose(node["share"], own, rtol=1e-2, atol=1e-6)
        assert node["column"] == len(parent)
        assert node["parent"] < number
    places = [(node["column"], node["row"]) for node in found["nodes"]]
    assert len({*places}) == len(places)
    assert found["texts"][0]["best"]
    assert [text["score"] for text in found["texts"] if text["ended"]] == sorted(
        (text["score"] for text in found["texts"] if text["ended"]), reverse=True
    )


WRITER = TransformerConfig(architecture="decoder", vocab_size=13)


def test_another_token_cuts_what_follows_and_the_same_one_does_not():
    steps = Steps((5, 6, 7), 1)
    assert steps.with_token(9) == Steps((5, 9), 2)
    assert steps.with_token(6) == Steps((5, 6, 7), 2)
    assert Steps((5, 6), 2).with_token(8) == Steps((5, 6, 8), 3)


@pytest.mark.parametrize("steps", [Steps(), Steps((5,), 1), Steps((5, 6), 0), Steps((5, END_ID), 1)])
def test_steps_are_read_as_they_are_written(steps):
    assert Steps.read(steps.text(), WRITER, MOST) == steps


@pytest.fixture
def session(monkeypatch):
    """Return the session of a visitor who has written two tokens."""
    monkeypatch.setitem(streamlit.session_state, KEY, "5.6")
    monkeypatch.setitem(streamlit.session_state, BEFORE, ["5"])
    return streamlit.session_state


def test_each_act_can_be_undone_in_turn(session):
    act({"do": "write", "token": 9, "at": 2, "of": "5.6"}, WRITER, MOST)
    assert session[KEY] == "5.6.9"
    act({"do": "step", "step": 0, "of": "5.6.9"}, WRITER, MOST)
    assert session[KEY] == "5.6.9-0"
    act({"do": "write", "token": 8, "at": 0, "of": "5.6.9-0"}, WRITER, MOST)
    assert session[KEY] == "8"
    act({"do": "take", "ids": [7, 9], "of": "8"}, WRITER, MOST)
    assert session[KEY] == "8.7.9"
    act({"do": "restart", "of": "8.7.9"}, WRITER, MOST)
    assert session[KEY] == ""
    for expected in ("8.7.9", "8", "5.6.9-0", "5.6", "5", "5"):
        act({"do": "undo", "of": session[KEY]}, WRITER, MOST)
        assert session[KEY] == expected


def test_a_press_on_what_is_no_longer_shown_does_nothing(session):
    act({"do": "write", "token": 9, "at": 1, "of": "5"}, WRITER, MOST)
    assert session[KEY] == "5.6"


@pytest.fixture
def page(new_visitor):
    return new_visitor(viewport={"width": 1280, "height": 900})


def words(page):
    return page.locator(".writing .text button:not(.next)").all_inner_texts()


def candidate(page, word):
    return page.locator(".writing .list .word").get_by_text(word, exact=True)


def button(page, name):
    return page.locator(".writing").get_by_role("button", name=name, exact=True)


def expect_words(page, *expected):
    expect(page.locator(".writing .text button:not(.next)")).to_have_text([*expected])
    settle(page)


def test_digits_are_reversed_step_by_step(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=reverse-digits&text=3 1 4&lang=en")
    for number in range(4):
        expect_words(page, *"413"[:number])
        weights = page.locator(".writing .tokens span")
        if number < 3:  # the head that the view opens on reads the digit that is written next
            expect(weights.filter(has_text=re.compile(r"[5-9]\d%"))).to_have_text(
                re.compile(f"^{'413'[number]}\\d+%$")
            )
        button(page, "Likeliest").click()
    expect_words(page, *"413", "[END]")
    expect(page.locator(".writing .note")).to_contain_text("[END] was written")
    expect(button(page, "Likeliest")).to_be_disabled()
    button(page, "Undo").click()
    expect_words(page, *"413")


def test_another_token_changes_what_comes_after_it(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=induction&text=a x m a x m a x&lang=en&sampling=0-0-1")
    button(page, "Likeliest").click()
    expect_words(page, "m")
    button(page, "Likeliest").click()
    expect_words(page, "m", "a")
    page.locator(".writing .text button").first.click()
    expect(page.locator(".writing h3").first).to_have_text("Token 1: “m” was written")
    candidate(page, "a").click()
    expect_words(page, "a")
    button(page, "Likeliest").click()
    expect_words(page, "a", "x")
    address = page.url
    button(page, "Undo").click()
    expect_words(page, "a")
    page.goto(address)
    expect_words(page, "a", "x")
    expect(page.locator(".writing output").first).to_have_text("0.00")


def test_the_sliders_change_the_bars_at_once_and_are_kept(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=induction&text=a x m a x m a x&lang=en")
    shares = page.locator(".writing .list .share")
    expect(shares.first).to_be_visible()
    settle(page)
    before = shares.first.inner_text()
    slider = page.locator(".writing .sliders input")
    slider.nth(0).evaluate("input => { input.value = 2; input.oninput(); }")  # while it is dragged
    assert float(shares.first.inner_text()[:-1]) < float(before[:-1])
    slider.nth(1).fill("3")
    expect(page.locator(".writing .list .cut")).to_have_count(25)
    expect(page.locator(".writing .cut-here")).to_have_text("top-k 3 ends here")
    expect(page).to_have_url(re.compile("sampling=2-3-1"))
    settle(page)
    possible = page.locator(".writing .list button:not(.cut) .word").all_inner_texts()
    assert len(possible) == 3
    button(page, "Sample").click()
    written = page.locator(".writing .text button:not(.next)")
    expect(written).to_have_count(1)
    assert written.inner_text() in possible


def test_it_writes_on_until_the_end_or_stops(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=reverse-digits&text=1 2 3 4 5 6 7 8 9&lang=en&sampling=0-0-1")
    button(page, "Write 20 more").click()
    expect_words(page, *"987654321", "[END]")
    expect(button(page, "Write 20 more")).to_be_disabled()


def test_the_keyboard_writes_and_keeps_its_place(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=reverse-digits&text=3 1 4&lang=en")
    expect(page.locator(".writing .list li").first).to_be_visible()
    button(page, "Likeliest").focus()
    for number in (1, 2):
        page.keyboard.press("Enter")
        expect_words(page, *"413"[:number])
    expect(button(page, "Likeliest")).to_be_focused()


def test_what_is_written_opens_on_the_attention_page(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=reverse-digits&text=3 1 4&lang=en&written=8")
    expect(page.locator(".writing .text button").first).to_be_visible()
    word = words(page)[0]
    page.get_by_role("button", name="Open this text in Attention").click()
    page.locator(".lens .said").wait_for()
    settle(page)
    expect(page).to_have_url(re.compile(rf"/\?.*target={word}"))
    page.locator(".st-key-pages").get_by_role("link").filter(has_text="Writing").click()
    expect_words(page, word)


def test_a_press_on_the_tree_writes_the_text_up_to_it(page, app, shipped):
    page.goto(f"{app[1]}/writing?model=induction&text=a x m a x m a x&lang=en&writing_view=beams&beams=2")
    page.locator(".beams button.best").first.click()
    expect(page).to_have_url(re.compile(r"written=\d+"))
    settle(page)
    page.locator("[data-testid=stMain]").get_by_role("radio", name="step by step").click()
    expect_words(page, "m")
