"""Why, on the first page in a real browser: words, heads and cells, without a click."""

import re

import pytest
from bench_page import expect_text, line, type_sentence, word
from lens_page import chosen, head_button, painted, settle
from playwright.sync_api import expect

from transformer_viz.pictures.effects import signed
from transformer_viz.questions.effects.measure import effects
from transformer_viz.store.load import load

FIRST = "房间很干净，服务态度也很好。"
SECOND = "房间又脏又吵，再也不会来了。"
HOTEL = "hotel-zh"


@pytest.fixture
def page(new_visitor, app, shipped, models_folder):
    page = new_visitor(viewport={"width": 1440, "height": 900})
    page.goto(f"{app[1]}/?model={HOTEL}&text={FIRST}&lang=en")
    return page


def asked(models_folder, text):
    """Return the effects of a text, and (layer, head) of the strongest head, from 1."""
    found = effects(load(str(models_folder / HOTEL)), text)
    heads = abs(found.heads["encoder"])
    layer, head = divmod(int(heads.argmax()), heads.shape[1])
    return found, (layer + 1, head + 1)


def explained(page, text):
    """Wait until the words of a text are tinted; return them with what stands above each."""
    expect_text(page, text)
    page.locator(".bench .reasons .reason b").first.wait_for()
    page.locator(".head .bar i").first.wait_for(state="attached")
    settle(page)
    painted(page)
    return line(page).inner_text()


def test_words_and_the_strongest_head_of_each_new_text_are_shown_without_a_click(page, models_folder):
    for text in (FIRST, SECOND):
        if text != FIRST:
            type_sentence(page, text)
        found, strongest = asked(models_folder, text)
        said = explained(page, text)
        largest = found.words["value"].abs().max()
        assert signed(found.words["value"][found.words["value"].abs().argmax()]) in said
        assert largest > 0
        assert chosen(page) == strongest
        expect(page.locator(".place")).to_contain_text("estimated")


def test_a_head_that_a_person_has_chosen_stays_for_the_next_text(page, models_folder):
    explained(page, FIRST)
    _, (_, strongest) = asked(models_folder, FIRST)
    other = 1 if strongest != 1 else 2
    head_button(page, other).click()
    type_sentence(page, SECOND)
    explained(page, SECOND)
    assert chosen(page)[1] == other


def test_what_it_does_is_chosen_once_and_stays_in_the_address(page, models_folder):
    explained(page, FIRST)
    page.get_by_role("button", name="What it does").click()
    expect(page).to_have_url(re.compile("value=effects"))
    type_sentence(page, SECOND)
    explained(page, SECOND)
    expect(page.get_by_role("button", name="What it does")).to_have_attribute("aria-pressed", "true")
    page.reload()
    explained(page, SECOND)
    expect(page.get_by_role("button", name="What it does")).to_have_attribute("aria-pressed", "true")


def test_the_saved_page_knows_what_each_head_does(page, browser, tmp_path, models_folder):
    explained(page, FIRST)
    _, strongest = asked(models_folder, FIRST)
    page.locator(".menu.export > summary").click()
    with page.expect_download() as download:
        page.locator(".menu.export button").filter(has_text="HTML").click()
    file = tmp_path / "saved.html"
    download.value.save_as(file)
    saved = browser.new_page()
    saved.goto(file.as_uri())
    saved.locator(".head .bar i").first.wait_for(state="attached")
    assert chosen(saved) == strongest
    expect(saved.locator(".place")).to_contain_text("effect on the answer")
    saved.close()


def test_switched_off_there_are_neither_words_nor_bars(page):
    explained(page, FIRST)
    page.get_by_role("checkbox", name="Why?").click()
    page.wait_for_url("**why=0**")
    expect(page.locator(".bench .word:is(.for, .against)")).to_have_count(0)
    expect(page.locator(".bench .reasons")).to_have_count(0)
    expect(page.locator(".head .bar")).to_have_count(0)
    expect(page.get_by_role("button", name="What it does")).to_have_count(0)
    page.reload()
    expect_text(page, FIRST)
    expect(page.locator(".head .bar")).to_have_count(0)
    expect(page.get_by_role("button", name="What it does")).to_have_count(0)
    page.get_by_role("checkbox", name="Why?").click()
    explained(page, FIRST)


def test_a_press_on_a_word_compares_with_the_text_without_it(page, models_folder):
    explained(page, FIRST)
    found, _ = asked(models_folder, FIRST)
    row = found.words[found.words["word"] == "干净"].iloc[0]
    word(page, row["word"]).press("Enter")
    page.get_by_role("group", name=row["word"], exact=True).get_by_role("button").last.click()
    expect(page.locator(".chip")).to_contain_text(f"without “{row['word']}”")
    sides = page.locator(".bench .words")
    expect(sides).to_have_count(2)
    page.get_by_role("button", name="What it does").click()
    expect(page.locator(".panel.change h3")).to_contain_text("log-odds")
    page.locator(".panel.change canvas").hover(position={"x": 200, "y": 200})
    word(page, row["word"]).click()
    expect(page.locator(".chip")).to_have_count(0)
