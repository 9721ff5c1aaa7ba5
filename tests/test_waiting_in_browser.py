"""Long work on a page in a real browser: its progress, the way to stop it, other visitors meanwhile."""

import shutil

import pytest
from bench_page import box, edit, type_sentence
from playwright.sync_api import expect
from processes import long_work_suspended
from small_models import write_endless

SLOW = 'model=endless&changes={"ablate":[["encoder",0,0]]}'
"""Under changes every token takes a pass over all before it: the work outlasts the opening of a page."""

PROMPT = 20_000
"""Milliseconds that a page may take on a busy machine; a child is waited for three times as long."""


@pytest.fixture(scope="module", autouse=True)
def endless(translator, models_folder):
    write_endless(translator, models_folder)
    yield
    shutil.rmtree(models_folder / "endless")


@pytest.fixture
def visitor(new_visitor, app):
    """Return a function that opens an address in a browser of its own."""

    def visit(query):
        page = new_visitor()
        page.goto(f"{app[1]}/?{query}")
        return page

    return visit


def test_writing_shows_its_progress_can_be_stopped_and_started_again(visitor, app):
    page = visitor(SLOW)
    page.get_by_text("tokens so far").wait_for()
    with long_work_suspended(app[0].pid):
        stop(page)
    page.get_by_role("button", name="Start again").click()
    page.get_by_text("tokens so far").wait_for()


def test_a_page_just_opened_has_no_picture_and_later_the_former_one_is_dimmed(visitor, app):
    page, views = visitor(f"{SLOW}&text=A%20frame"), "div:has(> .lens)"
    page.get_by_text("tokens so far").wait_for()
    expect(page.locator(views)).to_have_count(0)
    with long_work_suspended(app[0].pid):
        say_nothing(page)
    page.goto(f"{app[1]}/?model=small&text=A%20frame")
    expect(page.locator(views)).to_have_css("opacity", "1")
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option").filter(has_text="endless").click()
    page.get_by_text("tokens so far").wait_for()
    expect(page.locator(views)).not_to_have_css("opacity", "1")
    with long_work_suspended(app[0].pid):
        stop(page)
    expect(page.locator(views)).not_to_have_css("opacity", "1")  # it is still that of another run


def stop(page):
    """Stop what is worked on."""
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped.")).to_be_visible(timeout=PROMPT)
    expect(page.get_by_text("tokens so far")).to_have_count(0)


def say_nothing(page):
    """Empty the box, and wait until the page says what to do instead."""
    edit(page).fill("")
    box(page).press("Enter")
    expect(page.get_by_text("Type a sentence above")).to_be_visible(timeout=PROMPT)
    expect(page.get_by_text("tokens so far")).to_have_count(0)


@pytest.mark.thorough
def test_another_visitor_sees_attention_while_models_write_without_end(visitor, app):
    page = visitor("model=small&text=A%20dull%20film.")
    page.locator(".table summary").click()
    expect(page.locator(".table tbody th")).to_have_text(["a", "dull", "film", "."])
    rude = [visitor(f"{SLOW}&text=Film%20{number}") for number in range(4)]
    rude[-1].get_by_text("tokens so far").wait_for(timeout=180_000)  # three others are before it
    with long_work_suspended(app[0].pid):
        type_sentence(page, "A clever plot.")
        expect(page.locator(".table tbody th")).to_have_text(["a", "clever", "plot", "."])
        expect(rude[-1].get_by_role("progressbar")).to_be_visible()


def test_another_sentence_takes_the_place_of_one_that_is_being_answered(visitor, app):
    page = visitor(f"{SLOW}&text=A%20film%20again")
    page.get_by_text("tokens so far").wait_for()
    with long_work_suspended(app[0].pid):
        say_nothing(page)
