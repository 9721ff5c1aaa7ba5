"""What is chosen on the workbench runs nothing of the page around it, unless that has to change."""

import re
import shutil

import pytest
from lens_page import painted, settle
from playwright.sync_api import expect
from running_app import ROOT, running


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder for models, and the address of an app over it."""
    folder = tmp_path_factory.mktemp("models")
    with running(TRANSFORMER_VIZ_MODELS=folder) as (_, address):
        yield folder, address


@pytest.fixture
def models(own):
    """The folder, with two models in it."""
    folder, _ = own
    for name in ("attention-only", "reverse-digits"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / "models" / name, folder / name)
    return folder


@pytest.fixture
def page(own, models, new_visitor):
    """The first of them, opened."""
    page = new_visitor(viewport={"width": 1440, "height": 900})
    page.goto(f"{own[1]}/?lang=en&model=attention-only")
    page.locator(".lens .said").wait_for()
    settle(page)
    return page


def go(page, name):
    page.locator(".st-key-pages").get_by_role("link").filter(has_text=name).click()
    page.locator(".st-key-page-shown").filter(has_text=name).wait_for()
    settle(page)


def switch_head_off(page):
    page.locator(".heads .power").first.click()
    page.locator(".lens .compared").wait_for()


def test_a_head_is_switched_off_without_streamlit_and_a_language_is_chosen_with_the_header(page):
    frames = []

    def receive(frame):  # Playwright takes no method of a list
        frames.append(frame)

    page.on("websocket", lambda socket: socket.on("framereceived", receive))
    page.reload()
    page.locator(".lens .said").wait_for()
    settle(page)
    frames.clear()
    switch_head_off(page)
    page.wait_for_timeout(1_000)
    assert not frames
    page.get_by_text("中文", exact=True).first.click()
    expect(page.locator(".st-key-pages")).to_contain_text("课程")
    settle(page)
    assert any(b"header-language" in frame for frame in frames)


def test_a_model_that_was_written_anew_is_shown_anew(page, models):
    shutil.rmtree(models / "attention-only")
    shutil.copytree(models / "reverse-digits", models / "attention-only")
    target = page.get_by_role("textbox", name="Target")
    expect(target).to_have_count(0)
    page.locator(".heads .power").first.click()
    expect(target).to_have_count(1)  # it writes, the former one did not


def test_a_model_that_was_deleted_gives_way_to_another(page, models):
    shutil.rmtree(models / "attention-only")
    page.locator(".heads .power").first.click()
    expect(page.locator(".st-key-header-model input")).to_have_value(re.compile("^reverse-digits"))


def test_the_letters_are_as_before_once_the_projector_is_off(page):
    go(page, "Positions")
    page.locator(".stMain").get_by_text("All encodings").click()
    words, projector = (
        page.locator(".stMain .stMarkdown p").last,
        page.get_by_role("switch", name="Projector"),
    )
    usual = words.evaluate("each => getComputedStyle(each).fontSize")
    projector.press("Space")
    expect(words).to_have_css("font-size", "18px")
    projector.press("Space")
    expect(words).to_have_css("font-size", usual)


def test_the_views_take_the_room_of_a_lesson_that_is_closed(page):
    go(page, "Lessons")
    page.locator(".st-key-leave-lesson-1 button").click()
    page.locator(".st-key-lesson").wait_for()
    page.locator(".lens .column").wait_for()
    settle(page)
    read = "parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--below'))"
    strip, beside = page.evaluate(read), lower_end(page)
    assert strip > 100
    page.locator(".st-key-turn-close button").click()
    expect(page.locator(".st-key-lesson")).to_have_count(0)
    page.locator(".bench .reasons .reason b").first.wait_for()  # without a lesson, the answer is explained
    assert abs(lower_end(page) - beside - strip) <= 1  # pixels are rounded


def lower_end(page):
    """Return to which height of the window the heads may reach."""
    painted(page)
    read = "each => each.getBoundingClientRect().top + parseFloat(getComputedStyle(each).maxHeight)"
    return page.locator(".lens .column").evaluate(read)
