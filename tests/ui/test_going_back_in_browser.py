"""Back in the browser's history: the first step leads to the page before, as it was left."""

import re
from contextlib import contextmanager

import pytest
from lens_page import choose, chosen, head_button, settle
from playwright.sync_api import expect


@pytest.fixture
def ends():
    """The messages by which Streamlit says that a run has ended: those of two bytes."""
    return []


@pytest.fixture
def page(new_visitor, ends):
    page = new_visitor(viewport={"width": 1440, "height": 900})

    def receive(frame):
        if len(frame) == 2:
            ends.append(frame)

    page.on("websocket", lambda socket: socket.on("framereceived", receive))
    return page


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
    """Wait until the Masks page has drawn a head, and the server is done."""
    expect(page.locator(".lens .chosen strong")).to_have_text(place)
    settle(page)


@contextmanager
def answered(page, ends):
    """Wait at the end until the server has answered what is done meanwhile."""
    before = len(ends)
    yield
    while len(ends) == before:
        page.wait_for_timeout(20)


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
    go_to_masks(page, "Layer 1, head 2")
    go_back(page)
    expect(page.locator(".place")).to_contain_text("Layer 1, head 2")
    assert "masks" not in page.url
    for part in ("model=hotel-zh", "head=2", "view=matrix"):
        expect(page).to_have_url(re.compile(part))
    expect(page.get_by_label("Sentence")).to_have_value(text)
    expect(page.locator(".chip")).to_have_text("Matrix ×")


def test_a_head_of_the_masks_page_is_not_that_of_the_page_before(page, ends, app, shipped):
    open_lens(page, f"{app[1]}/?model=hotel-zh&lang=en&layer=1&head=2")
    go_to_masks(page, "Layer 1, head 2")
    with answered(page, ends):
        page.get_by_role("button", name=re.compile("^Layer 1, head 3")).click()
    masks_at(page, "Layer 1, head 3")
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


def test_a_page_that_stands_alone_does_not_hear_what_streamlit_tells_the_page_around_it(page, app):
    page.add_init_script("""
        window.heard = [];
        window.addEventListener("message", ({ data }) => window.heard.push(data));
    """)  # as Streamlit does, before any component is there
    open_lens(page, f"{app[1]}/?lang=en")
    settle(page)
    page.evaluate("""() => {
        window.heard.length = 0;
        window.postMessage("from elsewhere", "*");
    }""")
    page.get_by_role("button", name="Show").first.click()
    settle(page)
    go_to_masks(page, re.compile("Layer"))
    heard = page.evaluate("window.heard")
    assert "from elsewhere" in heard
    assert not [each for each in heard if "stCommVersion" in each]
