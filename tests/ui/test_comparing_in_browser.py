"""Two runs compared in a real browser: what the page says, and saves, is what Python works out."""

import csv
import dataclasses
import io
import json
import re
import subprocess
import sys
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pytest
from bench_page import answered, type_sentence
from chinese import is_chinese
from lens_page import middles, opened, page_place, toggle
from numpy.testing import assert_allclose
from pairs import MODELS, PAIRS, chips_of, compared, distribution, explorer, query_of, traces
from playwright.sync_api import expect
from running_app import ROOT

from transformer_viz.pictures.labels import as_shown, label_of, written_text
from transformer_viz.ui.shell.server import FIRST_MODELS


def types(text):
    def act(page):
        press_compare(page)
        type_sentence(page, text)

    return act


def switches_off(*heads):
    def act(page):
        for number, head in enumerate(heads, 1):
            switch(page, head)
            expect(chips(page)).to_have_count(number + (number > 1))
            answered(page)

    return act


def chooses(group, option):
    def act(page):
        toggle(page, "change", True)
        change_menu(page).get_by_role("group", name=group, exact=True).get_by_role(
            "button", name=option, exact=True
        ).click()

    return act


def cuts(cell, size, name):
    def act(page):
        page.mouse.click(*page_place(page, middles(page, np.ones((size, size), bool))[cell]))
        toggle(page, "change", True)
        change_menu(page).get_by_role("button", name=name, exact=True).click()

    return act


def takes_model(name):
    def act(page):
        press_compare(page)
        page.locator(".st-key-model input").click()
        page.get_by_role("option").filter(has_text=name).click()

    return act


ACTS = {
    "a word added": types("This film was not good."),
    "two heads of a writer off": switches_off(1, 26),
    "one head off": switches_off(13),
    "an edge cut": cuts((4, 3), 6, "Cut “good” → “was”"),
    "no residual connections": chooses("Residual connections", "removed"),
    "a model with other heads": takes_model("single-block"),
}
"""Pair -> how a visitor comes from its A to its B, one for each way there is."""


@pytest.fixture
def new_page(new_visitor):
    """Return a function that opens a page of a new visitor; nothing may go wrong there."""
    wrong = []

    def opened(**options):
        page = new_visitor(viewport={"width": 1440, "height": 1000}, **options)
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        return page

    yield opened
    assert wrong == []


def open_single(page, home, pair, **address):
    """Open the page of A alone, on the first head."""
    first = {"model": pair.model, "text": pair.text, "lang": "en", "layer": 1, "head": 1, "why": 0}
    open_address(page, f"{home}/?{urlencode(first | address)}")


def open_both(page, home, pair, **address):
    """Open the page of A and B."""
    open_address(page, f"{home}/?{urlencode(query_of(pair) | {'lang': 'en', 'why': 0} | address)}")


def open_address(page, address):
    page.goto(address)
    page.locator(".lens .said").wait_for()
    answered(page)


def sides(query):
    """Return what the query of an address says of A and B; its JSON may be written in several ways."""
    found = {name: query[name] for name in ("model", "text", "before", "changes") if name in query}
    for name in {"before", "changes"} & {*found}:
        found[name] = {key: value for key, value in json.loads(found[name]).items() if value not in ("", {})}
    return found


def press_compare(page):
    page.locator("[data-key=compare]").click()
    before(page).wait_for()
    answered(page)


def switch(page, number, kind="encoder"):
    """Press the sign on the thumbnail of a head, counted over all layers."""
    page.locator(".heads .switched").nth(number).hover()
    page.locator(".heads .power").nth(number).click()


def change_menu(page):
    return page.locator(".menu.change")


def chips(page):
    return page.locator(".lens .chips .chip")


def before(page):
    return page.locator(".bench .line.compared").filter(has=page.locator(".side", has_text="A"))


def after(page):
    line = page.locator(".bench .line.compared").filter(has=page.locator(".side", has_text="B"))
    return line.locator(".answer")


def texts_of(pair):
    """Return the chips of a pair as they are on the page."""
    return [f"{text} ×" for text in chips_of(pair)]


def expect_answers(page, pair):
    """Wait until the page says what A and B answer, and by how much A's answer is more or less likely."""
    a, b = traces(pair)
    expect(before(page)).to_contain_text(pair.text)
    if a.encoder and a.decoder:
        expect(before(page)).to_contain_text(written_text(a))
        expect(after(page)).to_contain_text(written_text(b))
        return
    ours, theirs = distribution(a), distribution(b)
    label = int(ours.argmax())
    expect(before(page)).to_contain_text(f"{label_of(a, label)} {ours[label]:.1%}")
    expect(after(page)).to_contain_text(f"{label_of(a, label)} {theirs[label]:.1%}")
    points = re.search(r"([+−]?)(\d+\.\d) points", after(page).inner_text())
    change = float(points[2]) * (-1 if points[1] == "−" else 1)
    assert_allclose(change, 100 * (theirs[label] - ours[label]), atol=0.0501)
    odds = re.search(r"log-odds ([+−]?)(\d+\.\d\d)", after(page).inner_text())
    expected = compared(pair).answer().log_odds
    assert_allclose(float(odds[2]) * (-1 if odds[1] == "−" else 1), expected, atol=0.00502)
    likeliest = int(theirs.argmax())
    now = f"now {label_of(b, likeliest)} {theirs[likeliest]:.1%}"
    assert (now in after(page).inner_text()) == (likeliest != label)


def saved_table(page):
    """Return the rows of the table with all weights, from the menu "Export"."""
    with page.expect_download() as download, opened(page, "export"):
        page.locator(".menu.export").get_by_role("button", name="All weights (CSV)").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return [*csv.DictReader(io.StringIO(file.read()))]


def expect_table(page, pair):
    """Compare every weight of A and B and their difference with NumPy's."""
    found = compared(pair)
    shown = dataclasses.replace(found, a=as_shown(found.a), b=as_shown(found.b))
    rows, frame = saved_table(page), shown.to_frame()
    assert [row["kind"] for row in rows] == [*frame.kind]
    assert [row["query_token"] for row in rows] == [*frame.query_token]
    assert [row["key_token"] for row in rows] == [*frame.key_token]
    for name in ("layer", "head", "query", "key", "a", "b", "difference"):
        found = [float(row[name] or "nan") for row in rows]
        assert_allclose(found, frame[name], atol=2e-6)
    assert np.nanmax(np.abs(frame.difference)) > 1e-3


@pytest.mark.quick("a word added", "an edge cut")
@pytest.mark.parametrize(
    "name", ["a word added", "two heads of a writer off", "an edge cut", "a model with other heads"]
)
def test_both_answers_and_all_weights_are_those_of_python(new_page, home, name):
    page, pair = new_page(), PAIRS[name]
    open_single(page, home, pair)
    ACTS[name](page)
    expect_answers(page, pair)
    answered(page)
    expect(chips(page)).to_have_text(texts_of(pair))
    if pair.other_model:
        expect(page.get_by_text("have different layers and heads")).to_be_visible()
        expect(page.locator(".lens .panels")).not_to_have_class(re.compile("compared"))
    else:
        expect(page.locator(".lens .panels")).to_have_class(re.compile("compared"))
        expect_table(page, pair)
    first = {"model": FIRST_MODELS["en"][0]}  # which an address leaves out
    assert sides(first | dict(parse_qsl(urlsplit(page.url).query))) == sides(query_of(pair))


def test_the_menu_of_changes_closes_once_one_is_chosen_since_it_covers_the_difference(new_page, home):
    page, name = new_page(), "no residual connections"
    pair = PAIRS[name]
    open_single(page, home, pair)
    ACTS[name](page)
    expect(chips(page)).to_have_count(1)
    answered(page)
    assert not change_menu(page).evaluate("menu => menu.open")
    expect(change_menu(page).locator("summary")).to_be_focused()
    difference = page.locator(".lens .panel.change canvas")
    assert difference.evaluate("""canvas => {
        const { left, top, width, height } = canvas.getBoundingClientRect();
        return canvas.getRootNode().elementFromPoint(left + width / 2, top + height / 2) === canvas;
    }""")


def test_a_head_switched_off_shows_a_head_that_moved(new_page, home):
    page, name = new_page(), "one head off"
    pair = PAIRS[name]
    open_single(page, home, pair, layer=2, head=6)
    ACTS[name](page)
    answered(page)
    moved = compared(pair).moved["encoder"]
    layer, head = divmod(int(moved.argmax()), moved.shape[1])
    assert (moved[1, 5], moved[layer, head]) == (0, pytest.approx(moved.max()))
    expect(page.locator(".lens .place")).to_contain_text(f"Layer {layer + 1}, head {head + 1}")
    expect(page.locator(".lens .says")).not_to_have_text("This head attends as before.")
    assert f"layer={layer + 1}&head={head + 1}" in page.url


@pytest.mark.quick("two heads of a writer off")
@pytest.mark.parametrize("name", ["a translator", "two heads of a writer off", "tokens reversed"])
def test_what_was_changed_can_be_taken_back_and_the_comparison_ended(new_page, home, name):
    """The address that Python writes, and the page too, opens both sides."""
    page, pair = new_page(), PAIRS[name]
    open_both(page, home, pair)
    expect_answers(page, pair)
    expect(chips(page)).to_have_text(texts_of(pair))
    chips(page).last.click()  # the only one, or "Undo all"
    expect(page.get_by_text("B is still the same as A.")).to_be_visible()
    expect(chips(page)).to_have_count(0)
    answered(page)
    expect_answers(page, pair._replace(other=None, changes={}, other_model=None))
    rows = saved_table(page)
    assert {row["difference"] for row in rows} == {"0.0"}
    assert [row["a"] for row in rows] == [row["b"] for row in rows]
    page.locator("[data-key=compare]").click()
    expect(before(page)).to_have_count(0)
    expect(page.locator(".lens .panels")).not_to_have_class(re.compile("compared"))
    expect(page.locator(".lens .panel.lines")).to_be_visible()
    answered(page)
    assert "before=" not in page.url
    assert "changes=" not in page.url


def test_one_of_several_changes_is_taken_back(new_page, home):
    page, pair = new_page(), PAIRS["two heads of a writer off"]
    open_both(page, home, pair)
    expect(chips(page)).to_have_text(texts_of(pair))
    chips(page).nth(1).click()
    left = pair._replace(chips=pair.chips[:1], changes={"ablate": [[0, 1]]})
    expect(chips(page)).to_have_text(texts_of(left))
    answered(page)
    expect_answers(page, left)
    expect_table(page, left)


def test_a_press_on_the_middle_of_a_small_thumbnail_chooses_its_head_and_does_not_switch_it_off(
    new_page, home
):
    page = new_page()
    page.set_viewport_size({"width": 1280, "height": 720})
    open_single(page, home, PAIRS["one head off"])
    thumbnails = page.locator(".heads .switched > .head")
    assert thumbnails.count() == 32
    assert thumbnails.first.bounding_box()["width"] < 40
    for number in range(32):
        thumbnails.nth(number).click()
        expect(thumbnails.nth(number)).to_have_attribute("aria-current", "true")
    expect(chips(page)).to_have_count(0)


def test_a_head_is_switched_off_by_a_key_and_on_again(new_page, home):
    page, name = new_page(), "one head off"
    pair = PAIRS[name]
    open_single(page, home, pair, layer=2, head=6)
    page.locator(".heads [aria-current]").focus()
    for key in ("Control+o", "Alt+o", "Meta+o"):
        page.keyboard.press(key)
    page.keyboard.press("o")
    expect(chips(page)).to_have_text(texts_of(pair))
    answered(page)
    expect_answers(page, pair)
    page.keyboard.press("o")  # it still has the focus, though the views show a head that moved
    expect(chips(page)).to_have_count(0)


def test_the_page_python_and_the_command_line_say_the_same(new_page, home):
    page, name = new_page(), "one head off"
    pair = PAIRS[name]
    open_both(page, home, pair)
    expect_answers(page, pair)
    found = compared(pair).answer()
    command = [sys.executable, "-m", "transformer_viz", "compare", "--model", str(MODELS / pair.model)]
    command += ["--text", pair.text, "--ablate", "1.5"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    label = explorer(pair.model).config.labels[found.label]
    points = 100 * (found.after - found.before)
    expected = f"{label} {found.before:.4f} -> {found.after:.4f}, {points:+.2f} points, "
    assert expected + f"log-odds {found.log_odds:+.4f}" in said
    assert f"{label} {found.after:.1%}" in after(page).inner_text()


def test_a_comparison_in_chinese_on_a_dark_page(new_page, home):
    page, pair = new_page(color_scheme="dark"), PAIRS["two heads of a writer off"]
    changes = {**pair.changes, "cut": [[0, 0, 1, 0]], "scaling": False, "positions": "none"}
    changes |= {"attention_mask": "window:1", "reference": "own", "patterns": [[[1, 1], "uniform"]]}
    open_both(page, home, pair._replace(changes=changes), lang="zh")
    expect(chips(page)).to_have_count(9)
    change_menu(page).locator("summary").click()
    said = [*chips(page).all_inner_texts(), *page.locator(".lens .panel:visible h3").all_inner_texts()]
    said += change_menu(page).locator("h4, button, .hint").all_inner_texts()
    said += page.locator(".lens .says, .lens .compare").all_inner_texts()
    said += [page.locator(".heads .power").first.get_attribute("title")]
    assert [text for text in said if text not in ("A", "B") and not is_chinese(text)] == []
    said = after(page).inner_text()
    assert "个百分点" in said
    assert "对数几率" in said


def test_a_comparison_on_a_light_page_says_which_way_the_answer_went(new_page, home):
    page, pair = new_page(color_scheme="light"), PAIRS["a word replaced"]
    open_both(page, home, pair)
    expect(after(page).locator(".lost")).to_contain_text("points")
    expect(page.locator(".lens .panel:visible h3")).to_have_text(
        ["A", "B", "B − A in points: blue gained, red lost"]
    )
