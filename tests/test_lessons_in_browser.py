"""Lessons in a real browser, with the shipped models: predicted, revealed, and marked by the model."""

import re
from pathlib import Path

import pytest
from lens_page import held_back, open_table
from playwright.sync_api import expect
from running_app import ROOT, running

from transformer_viz.lessons.read import SHIPPED

RIGHT, WRONG = "✓", "✗"


@pytest.fixture(scope="module")
def lessons_app(tmp_path_factory):
    """The app with the shipped models and two lessons of a teacher that are none."""
    own = tmp_path_factory.mktemp("lessons")
    (own / "broken.md").write_text("no lesson", encoding="utf-8")
    text = (SHIPPED / "en" / "11-why-padding-is-masked.md").read_text(encoding="utf-8")
    (own / "hidden.md").write_text(text.replace("padding = 10", "position_ids = [0]"), encoding="utf-8")
    with running(TRANSFORMER_VIZ_MODELS=ROOT / "models", TRANSFORMER_VIZ_LESSONS=own) as (_, address):
        yield address


@pytest.fixture
def page(new_visitor):
    page = new_visitor()
    page.set_viewport_size({"width": 1280, "height": 720})
    return page


def guess(page, choice):
    page.locator(".st-key-lesson-guess").locator("button", has_text=choice).click()
    page.locator(".st-key-lesson-reveal button").click()


def expect_result(page, text):
    """Wait for a text in the result; while the page is drawn anew, the one before stands beside it."""
    expect(page.locator(".st-key-lesson-part-predict").filter(has_text=text).first).to_be_visible()


def shows(page, layer, head):
    """Wait until the views show a head, counted from 1."""
    said = re.compile(rf"(Layer |第 ){layer}\D+ {head}\b")
    expect(page.locator(".place")).to_have_text(said)


@pytest.mark.quick("en")
@pytest.mark.parametrize(
    ("lang", "title", "query", "wrong", "right"),
    [
        ("en", "How translation aligns", "un → chat", "black", "cat"),
        ("zh", "翻译怎样对齐", "我 → 昨", "bought", "yesterday"),
    ],
    ids=["en", "zh"],
)
def test_a_row_is_covered_until_it_is_revealed(lessons_app, page, lang, title, query, wrong, right):
    page.goto(f"{lessons_app}/lessons?lang={lang}")
    expect(page.get_by_text("broken.md")).to_be_visible()
    expect(page.get_by_text("hidden.md")).to_be_visible()
    page.get_by_role("button", name=title).click()
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    assert "lesson=06-how-translation-aligns" in page.url
    row = page.locator(".table tr").filter(has_text=query)
    open_table(page)
    expect(row).not_to_contain_text(re.compile(f"{right} (9\\d(\\.\\d)?|100)%"))
    guess(page, wrong)
    expect_result(page, WRONG)
    expect_result(page, right)
    expect(row).to_contain_text(re.compile(f"{right} (9\\d(\\.\\d)?|100)%"))


@pytest.mark.parametrize(("lang", "choice"), [("en", "another output"), ("zh", "输出改变")])
def test_the_answer_is_compared_once_it_is_revealed(lessons_app, page, lang, choice):
    page.goto(f"{lessons_app}/?lesson=07-how-a-head-copies&lang={lang}")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    expect(page.locator(".panels.compared")).to_have_count(0)
    guess(page, choice)
    expect_result(page, RIGHT)
    expect(page.locator(".panels.compared")).to_be_visible()


@pytest.mark.parametrize(("lang", "choice"), [("en", "Head 3"), ("zh", "第 3 个头")])
def test_the_head_that_matters_most_is_measured(lessons_app, page, lang, choice):
    page.goto(f"{lessons_app}/?lesson=09-which-head-carries-not&lang={lang}")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    shows(page, *{"en": (2, 2), "zh": (1, 6)}[lang])
    guess(page, choice)
    expect_result(page, RIGHT)
    expect_result(page, {"en": "1.14", "zh": "3.29"}[lang])
    shows(page, {"en": 2, "zh": 1}[lang], 3)


def test_a_comparison_that_is_revealed_stays_on_the_head_of_its_lesson(lessons_app, page):
    page.goto(f"{lessons_app}/?lesson=13-copying-names&lang=en")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    guess(page, "another output")
    expect_result(page, RIGHT)
    expect(page.locator(".panels.compared")).to_be_visible()
    shows(page, 2, 6)


@pytest.mark.parametrize(("lang", "chip"), [("en", "10 [PAD] appended"), ("zh", "追加 10 个 [PAD]")])
def test_what_a_lesson_changes_is_in_force_once_it_is_revealed_and_can_be_taken_back(
    lessons_app, page, lang, chip
):
    page.goto(f"{lessons_app}/?lesson=11-why-padding-is-masked&lang={lang}")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    guess(page, "positive")
    expect_result(page, RIGHT)
    padded = page.locator(".lens").get_by_role("button", name=chip)
    expect(padded).to_be_visible()
    padded.click()
    expect(padded).to_have_count(0)


def test_what_changes_while_the_views_are_still_being_fetched_is_shown(lessons_app, page):
    held = held_back(page, "**/views/*/lens.js")
    page.goto(f"{lessons_app}/?lesson=11-why-padding-is-masked&lang=en")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    guess(page, "positive")
    expect_result(page, RIGHT)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    for route in held:
        route.continue_()
    expect(page.locator(".lens").get_by_role("button", name="10 [PAD] appended")).to_be_visible()


def test_the_lessons_can_be_printed(lessons_app, page):
    page.goto(f"{lessons_app}/lessons?lang=en")
    for name, file, has_answers in (
        ("Worksheet", "lessons-worksheet-en.html", False),
        ("Teacher’s copy", "lessons-teacher-en.html", True),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == file
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert "Why padding is masked" in text
        assert ("Most of the attention now goes to" in text) == has_answers


def test_the_strip_leads_to_the_next_lesson_and_leaves_room_for_the_views(lessons_app, page):
    page.goto(f"{lessons_app}/?lesson=03-does-order-matter&lang=en")
    strip = page.locator(".st-key-lesson")
    expect(page.locator(".st-key-lesson-reveal button")).to_be_visible()
    expect(page.locator(".lens .panel.matrix canvas")).to_be_visible()
    top = strip.bounding_box()["y"]
    matrix = page.locator(".panel.matrix canvas").bounding_box()
    assert matrix["y"] + matrix["height"] <= top
    page.locator(".st-key-turn-next button").click()
    expect(strip).to_contain_text("Why divide by √dₖ?")
    expect(page.locator(".lens .place")).to_contain_text("Layer 1, head 1")
    page.locator(".st-key-turn-close button").click()
    expect(strip).to_have_count(0)
    assert "lesson=" not in page.url


SMALLEST = """() => Math.min(...["question", "see", "do", "predict", "shown"].flatMap((part) =>
    [...document.querySelectorAll(`.st-key-lesson-part-${part} :is(p, li)`)]
        .filter((text) => text.textContent.trim() && text.getClientRects().length && !text.closest(
            "[data-testid=stCaptionContainer], [data-testid=stPopover]"))
        .map((text) => parseFloat(getComputedStyle(text).fontSize))))"""
"""Return the size of the smallest letters of what a class has to read of a lesson, in pixels."""


@pytest.mark.quick("09-which-head-carries-not-en")
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "name",
    [
        "01-who-looks-where",
        "08-attention-is-not-explanation",
        "09-which-head-carries-not",
        "17-how-a-poem-rhymes",
    ],
)
def test_on_a_projector_a_lesson_stands_large_beside_a_large_picture(lessons_app, page, name, lang):
    page.goto(f"{lessons_app}/?lesson={name}&lang={lang}&projector=1")
    strip, matrix = page.locator(".st-key-lesson"), page.locator(".panel.matrix canvas")
    reveal = page.locator(".st-key-lesson-reveal button")
    expect(reveal).to_be_visible()
    expect(matrix).to_be_visible()
    for is_revealed in (False, True):
        assert page.evaluate(SMALLEST) >= 20
        assert strip.evaluate("strip => strip.scrollHeight <= strip.clientHeight + 1")
        picture, beside = matrix.bounding_box(), strip.bounding_box()
        assert picture["x"] + picture["width"] <= beside["x"]
        assert picture["y"] + picture["height"] <= 720
        assert picture["height"] > 260
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if not is_revealed:
            guesses = page.locator(".st-key-lesson-guess button")
            guesses.first.click()
            reveal.click()
            expect(page.locator(".st-key-lesson-part-shown")).to_be_visible()
            expect(reveal).to_have_count(0)
            expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def test_the_size_of_a_lesson_is_that_of_the_page_it_opens_and_goes_with_the_projector(lessons_app, page):
    page.goto(f"{lessons_app}/?lesson=15-watch-heads-form&lang=en&projector=1")
    expect(page.get_by_role("button", name="Start training")).to_be_visible()
    expect(page.locator(".st-key-lesson-large")).to_have_count(1)
    page.locator(".st-key-leave-turn-back button").click()
    expect(page.locator(".lens .panel.matrix canvas")).to_be_visible()
    page.locator(".lens .chip").filter(has_text="Projector").click()
    expect(page.locator(".st-key-lesson-large")).to_have_count(0)
    strip = page.locator(".st-key-lesson")
    expect(strip).to_contain_text("14")
    assert strip.bounding_box()["width"] > 1200


@pytest.mark.quick("en-july-Start training")
@pytest.mark.parametrize(
    ("lang", "choice", "start"), [("en", "july", "Start training"), ("zh", "july", "开始训练")]
)
def test_a_lesson_opens_on_the_train_page_and_leads_back_to_the_attention(
    lessons_app, page, lang, choice, start
):
    page.goto(f"{lessons_app}/?lesson=14-what-the-residual-carries&lang={lang}")
    strip = page.locator(".st-key-lesson")
    expect(page.locator(".lens .panel.matrix canvas")).to_be_visible()
    page.locator(".st-key-leave-turn-next button").click()
    expect(page.get_by_role("button", name=start)).to_be_visible()
    assert "/train?" in page.url
    assert "lesson=15-watch-heads-form" in page.url
    assert "task=dates" in page.url
    guess(page, choice)
    expect_result(page, RIGHT)
    expect(page.get_by_role("button", name=start)).to_be_visible()
    page.locator(".st-key-leave-turn-back button").click()
    expect(page.locator(".lens .panel.matrix canvas")).to_be_visible()
    expect(strip).to_contain_text("14")
    assert "/train" not in page.url
    page.go_back()
    expect(page.get_by_role("button", name=start)).to_be_visible()
    page.go_back()
    expect(page.locator(".lens .panel.matrix canvas")).to_be_visible()
    expect(strip).to_contain_text("14")


def test_a_link_to_a_lesson_opens_its_page_and_the_strip_stays_on_the_map(lessons_app, page):
    page.goto(f"{lessons_app}/?lesson=15-watch-heads-form&lang=en")
    expect(page.get_by_role("button", name="Start training")).to_be_visible()
    page.get_by_role("link", name="Map").click()
    page.wait_for_url("**/map?*")
    expect(page.locator(".st-key-lesson")).to_contain_text("Watch heads form")
    page.locator(".st-key-turn-close button").click()
    expect(page.locator(".st-key-lesson")).to_have_count(0)
    assert "/map" in page.url
    assert "lesson=" not in page.url


def test_a_lesson_sets_what_its_training_begins_with(lessons_app, page):
    page.goto(f"{lessons_app}/train?lesson=16-what-warm-up-is-for&lang=en")
    expect(page.get_by_text("564 steps")).to_be_visible()  # of 10,000 rows in 4 epochs
    for name, value in (("layers", "4"), ("rate", "0.002")):
        expect(page.locator(f"[class*=st-key-{name}-]")).to_contain_text(value)
    page.locator("[data-testid=stExpander] summary").click()
    expect(page.locator("[class*=st-key-warmup-] input")).to_have_value("0.20")
