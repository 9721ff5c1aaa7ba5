"""The workbench in a real browser: words, keys, what follows while one types, addresses, history."""

import re
import shutil

import pytest
from bench_page import answered, box, edit, expect_text, type_sentence, word
from lens_page import choose, choose_layer, chosen, head_button, open_table, painted, settle
from playwright.sync_api import expect
from small_models import write

TEXT = "A dull film."


@pytest.fixture
def page(new_visitor, app):
    """A page of a visitor with a text, whose answer is not explained."""
    page = new_visitor(viewport={"width": 1440, "height": 1000})
    open_page(page, app)
    return page


@pytest.fixture(scope="module", autouse=True)
def decoders(models_folder, translator, writer):
    """Put small models that write beside the other one."""
    for explorer in (translator, writer):
        write(explorer, models_folder)
    yield
    for explorer in (translator, writer):
        shutil.rmtree(models_folder / explorer.name)


def open_page(page, app, address="text=A%20dull%20film.&why=0"):
    page.goto(f"{app[1]}/?lang=en&{address}")
    page.locator(".lens .said").wait_for()
    settle(page)


def asked(page):
    """Return a list of the questions that the page asks from now on."""
    found = []

    def note(request):
        if request.url.endswith("/data/ask"):
            found.append(request.post_data_json)

    page.on("request", note)
    return found


def messages(page):
    """Return a list of the messages that the page sends to Streamlit, from its next opening on."""
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    return sent


def tokens(page):
    """Return the tokens of the views, once the table below them is open."""
    return page.locator(".table tbody th")


def chips(page):
    return page.locator(".lens .chip")


def test_words_are_reached_by_the_keyboard_and_taken_away_and_brought_back_by_it(page):
    page.locator(".bench .edit").focus()
    for _ in range(2):  # back over the full stop, to the last word
        page.keyboard.press("Shift+Tab")
    expect(word(page, "film")).to_be_focused()
    page.keyboard.press("Delete")
    expect(chips(page)).to_have_count(1)
    expect(word(page, "film")).to_have_attribute("aria-pressed", "true")
    expect(word(page, "film")).to_be_focused()
    expect(page).to_have_url(re.compile(r"text=A\+dull\+?\.|text=A%20dull%20?\."))
    page.keyboard.press("Enter")
    expect(chips(page)).to_have_count(0)
    expect_text(page, TEXT)
    expect(word(page, "film")).to_be_focused()


def test_what_can_be_done_with_a_word_is_chosen_by_the_keyboard_and_left_by_escape(page):
    dull = word(page, "dull")
    menu = page.get_by_role("group", name="dull", exact=True)
    dull.focus()
    page.keyboard.press("Space")
    expect(dull).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(dull).to_be_focused()
    page.keyboard.press("Enter")
    menu.get_by_role("button", name="Take “dull” away").press("Enter")
    expect(chips(page)).to_have_count(1)
    expect(dull).to_be_focused()
    page.keyboard.press("Space")
    expect(chips(page)).to_have_count(0)
    dull.click()
    menu.get_by_role("button", name="[UNK]").click()
    expect(chips(page)).to_contain_text("without “dull”")
    expect(dull).to_have_class(re.compile("hidden"))
    page.keyboard.press("Enter")
    expect(chips(page)).to_have_count(0)


def test_the_box_is_opened_by_a_key_and_left_without_what_was_typed(page):
    page.keyboard.press("e")
    expect(box(page)).to_be_focused()
    expect(box(page)).to_have_value(TEXT)
    box(page).press_sequentially(" No plot at all.")
    page.keyboard.press("Escape")
    expect_text(page, TEXT)
    expect(page).to_have_url(re.compile("text=A.{1,3}dull"))


def test_the_heads_follow_what_is_typed_word_by_word_without_a_message_or_an_entry(new_visitor, app):
    page = new_visitor(viewport={"width": 1440, "height": 1000})
    sent = messages(page)
    open_page(page, app)
    page.wait_for_timeout(500)
    open_table(page)
    before, entries, address = len(sent), page.evaluate("history.length"), page.url
    questions = asked(page)
    edit(page).fill("")
    box(page).press_sequentially("Great mus", delay=60)
    expect(tokens(page)).to_have_text(["great"])
    box(page).press_sequentially("ic", delay=60)
    page.wait_for_timeout(300)
    expect(tokens(page)).to_have_text(["great"])
    box(page).press_sequentially(" ", delay=60)
    expect(tokens(page)).to_have_text(["great", "music"])
    assert all(question["live"] for question in questions)
    assert {question["text"].strip() for question in questions} <= {"Great", "Great music"}
    assert len(sent) == before
    assert (page.evaluate("history.length"), page.url) == (entries, address)
    page.keyboard.press("Enter")
    expect_text(page, "Great music ")
    assert page.evaluate("history.length") == entries + 1
    page.wait_for_timeout(500)
    assert len(sent) == before


def test_what_is_half_typed_is_not_what_a_head_is_switched_off_in(page):
    open_table(page)
    edit(page).fill("")
    box(page).press_sequentially("Great music and a cle", delay=30)
    expect(tokens(page)).to_have_text(["great", "music", "and", "a"])  # the run follows up to there
    questions = asked(page)
    page.locator(".heads .switched").first.hover()
    page.locator(".heads .power").first.click()
    expect(chips(page)).to_have_count(1)
    [question] = [each for each in questions if each.get("act")]
    assert question["text"] == "Great music and a"
    expect_text(page, "Great music and a")


def test_nothing_is_asked_while_an_input_method_composes(page):
    edit(page).fill("")
    page.wait_for_timeout(500)
    questions = asked(page)
    compose = """(box, [text, event]) => {
        if (event) box.dispatchEvent(new CompositionEvent(event, { bubbles: true, data: text }));
        box.value = text;
        box.dispatchEvent(new InputEvent("input", { bubbles: true, isComposing: true }));
    }"""
    for text, event in (("f", "compositionstart"), ("fu ying", None), ("fuying hao", None)):
        box(page).evaluate(compose, [text, event])
        page.wait_for_timeout(200)
    box(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    page.wait_for_timeout(500)
    assert questions == []
    expect(box(page)).to_be_visible()
    box(page).evaluate("box => { box.value = '电影很好'; }")
    box(page).dispatch_event("compositionend", {"data": "电影很好", "bubbles": True})
    page.wait_for_timeout(1_000)
    assert [question["text"] for question in questions] == ["电影很好"]
    page.keyboard.press("Enter")
    expect_text(page, "电影很好")


def test_the_views_of_a_model_that_writes_are_dimmed_while_another_text_is_typed(new_visitor, app):
    page = new_visitor(viewport={"width": 1440, "height": 1000})
    open_page(page, app, "model=translator&text=A%20dull%20film.&why=0")
    views = page.locator("div:has(> .lens)")
    expect(views).to_have_css("opacity", "1")
    questions = asked(page)
    edit(page).fill("A clever plot.")
    expect(views).not_to_have_css("opacity", "1")
    page.wait_for_timeout(300)
    assert questions == []
    box(page).fill(TEXT)
    expect(views).to_have_css("opacity", "1")
    type_sentence(page, "A clever plot.")
    expect(views).to_have_css("opacity", "1")


def test_back_and_forward_ask_the_server_for_nothing(page):
    open_table(page)
    type_sentence(page, "A clever plot.")
    head_button(page, 3).click()
    word(page, "clever").press("Delete")
    expect(chips(page)).to_have_count(1)
    questions = asked(page)
    page.go_back()
    expect_text(page, "A clever plot.")
    expect(chips(page)).to_have_count(0)
    page.go_back()
    expect_text(page, TEXT)
    expect(tokens(page)).to_have_text(["a", "dull", "film", "."])
    page.go_forward()
    expect_text(page, "A clever plot.")
    assert chosen(page)[1] == 3
    page.go_forward()
    expect(chips(page)).to_have_count(1)
    page.wait_for_timeout(500)
    assert questions == []


def take_away(page):
    word(page, "dull").press("Delete")


def hide(page):
    word(page, "dull").click()
    page.get_by_role("group", name="dull", exact=True).get_by_role("button", name="[UNK]").click()


def switch_off(page):
    page.locator(".heads .switched").first.hover()
    page.locator(".heads .power").first.click()
    expect(chips(page)).to_have_count(1)


def choose_in_views(page):
    head_button(page, 3).click()
    choose_layer(page, 2)
    choose(page, "View", "Matrix")


def look(page):
    page.get_by_text("Tokens and heads", exact=True).click()
    page.locator(".looks .buttons button").first.click()


def ablate(page):
    page.get_by_text("Tokens and heads", exact=True).click()
    page.locator(".looks input[type=checkbox]").click()
    expect(page.locator(".bench .notes, .lens .place").filter(has_text="measured").first).to_be_visible()


def explain(page):
    page.get_by_role("checkbox", name="Why?").click()
    page.locator(".bench .reasons .reason b").first.wait_for()


def ask_about_another_answer(page):
    explain(page)
    page.get_by_text("Another answer", exact=True).click()
    page.locator(".about select").first.select_option(index=3)
    page.locator(".bench .reasons .reason b").first.wait_for()


STATES = [take_away, hide, switch_off, choose_in_views, look, ablate, explain, ask_about_another_answer]


def state_of(page):
    """Return all that a page shows of its run: texts, answers, reasons, chips, head, view."""
    answered(page)
    painted(page)
    parts = (
        ".bench .words",
        ".bench .answer",
        ".bench .reasons",
        ".bench .notes",
        ".lens .chip",
        ".lens .place",
    )
    shown = [page.locator(part).all_inner_texts() for part in parts]
    pressed = page.locator(".looks button[aria-pressed=true]").count()
    return [*shown, pressed, page.locator(".lens .panel:visible h3").all_inner_texts()]


@pytest.mark.quick("take_away", "choose_in_views", "ask_about_another_answer")
@pytest.mark.parametrize("act", STATES, ids=lambda act: act.__name__)
def test_the_address_of_every_state_opens_the_same_in_a_fresh_session(page, new_visitor, act):
    before = page.url
    act(page)
    page.wait_for_function("before => location.href !== before", arg=before)
    page.wait_for_timeout(500)
    shown = state_of(page)
    other = new_visitor(viewport={"width": 1440, "height": 1000})
    other.goto(page.url)
    other.locator(".lens .said").wait_for()
    if shown[2]:
        other.locator(".bench .reasons .reason b").first.wait_for()
    settle(other)
    other.wait_for_timeout(500)
    assert state_of(other) == shown


def test_a_text_goes_along_to_the_page_that_writes_and_comes_back_from_there(new_visitor, app):
    page = new_visitor(viewport={"width": 1440, "height": 1000})
    open_page(page, app, "model=writer&why=0")
    type_sentence(page, "A lovely film")
    page.locator(".st-key-pages").get_by_role("link").filter(has_text="Writing").click()
    sentence = page.get_by_role("textbox", name="Sentence")
    expect(sentence).to_have_value("A lovely film")
    sentence.fill("A clever plot")
    sentence.press("Enter")
    settle(page)
    page.locator(".st-key-pages").get_by_role("link").filter(has_text="Attention").click()
    expect_text(page, "A clever plot")
