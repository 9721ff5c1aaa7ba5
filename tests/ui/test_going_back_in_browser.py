"""Back in the browser's history: the first step leads to the page before, as it was left."""

import re

import pytest
from bench_page import expect_text
from lens_page import choose, chosen, head_button, settle
from playwright.sync_api import expect


@pytest.fixture
def page(new_visitor):
    return new_visitor(viewport={"width": 1440, "height": 900})


def opened(page):
    """Wait until a page has settled and its history.js, which loads on its own, looks after the history."""
    settle(page)
    page.wait_for_function("() => !String(history.pushState).includes('[native code]')")


def open_lens(page, address):
    page.goto(address)
    page.locator(".lens .said").wait_for()
    opened(page)


def go_to_masks(page, place):
    """Go to the Masks page, and wait until it shows the head at a place."""
    page.locator(".st-key-pages").get_by_role("link").filter(has_text="Masks").click()
    masks_at(page, place)


def masks_at(page, place):
    """Wait until the Masks page shows a head, and the server is done."""
    expect(page.locator(".bench .experiment")).to_be_visible()
    expect(page.locator(".lens .place")).to_have_text(place)
    settle(page)


def go_back(page):
    page.go_back()
    page.locator(".lens .said").wait_for()
    settle(page)


@pytest.mark.parametrize("choose_by", ["address", "thumbnail"])
def test_the_first_step_back_from_the_masks_brings_head_view_and_text_back(page, app, shipped, choose_by):
    text = "很好"
    head = "&layer=1&head=2&view=matrix" if choose_by == "address" else ""
    open_lens(page, f"{app[1]}/?model=hotel-zh&lang=en&text={text}{head}")
    if choose_by == "thumbnail":
        head_button(page, 2).click()
        choose(page, "View", "Matrix")
    assert chosen(page) == (1, 2)
    go_to_masks(page, re.compile("^Layer 1, head 2"))
    go_back(page)
    expect(page.locator(".place")).to_contain_text("Layer 1, head 2")
    assert "masks" not in page.url
    for part in ("model=hotel-zh", "head=2", "view=matrix"):
        expect(page).to_have_url(re.compile(part))
    expect_text(page, text)
    expect(page.locator(".chip")).to_have_text("Matrix ×")


def test_a_head_of_the_masks_page_is_not_that_of_the_page_before(page, app, shipped):
    open_lens(page, f"{app[1]}/?model=hotel-zh&lang=en&layer=1&head=2&why=0")
    go_to_masks(page, re.compile("^Layer 1, head 2"))
    head_button(page, 3).click()
    masks_at(page, re.compile("^Layer 1, head 3"))
    go_back(page)
    expect(page.locator(".place")).to_contain_text("Layer 1, head 2")


def test_one_step_back_from_a_lesson_leads_to_the_lessons(page, app, shipped):
    page.goto(f"{app[1]}/lessons?lang=en")
    first = page.locator(".st-key-leave-lesson-1 button")
    first.wait_for()
    opened(page)
    before = page.evaluate("history.length")
    first.click()
    page.locator(".lens .said").wait_for()
    settle(page)
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    first.wait_for()
    assert page.url.partition("?")[0].endswith("/lessons")
    assert "lesson=" not in page.url
