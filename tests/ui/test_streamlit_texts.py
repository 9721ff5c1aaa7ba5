"""What Streamlit says itself, on Chinese pages."""

from pathlib import Path

import pytest
import streamlit
from chinese import english, is_chinese
from lens_page import settle
from pages import open_page
from playwright.sync_api import expect
from running_app import running

from transformer_viz.language import Words
from transformer_viz.network.config import CHOICES
from transformer_viz.training.runs.settings import SCHEDULES
from transformer_viz.ui.shell.streamlit_texts import EXAMPLE, SAID_OTHERWISE, translations

BUNDLE = Path(streamlit.__file__).parent / "static" / "static" / "js"


def test_streamlit_still_says_what_is_translated():
    bundle = "".join(path.read_text(encoding="utf-8") for path in BUNDLE.glob("*.js"))
    own = {*Words("en").under("streamlit").values(), *SAID_OTHERWISE, EXAMPLE}
    assert [text for text in own if text not in bundle] == []


def test_every_text_of_streamlit_s_is_chinese_on_chinese_pages(monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.shell.streamlit_texts.words", lambda: Words("zh"))
    monkeypatch.setattr("transformer_viz.ui.shell.streamlit_texts.t", Words("zh"))
    found = translations()
    assert {*Words("en").under("streamlit").values(), *SAID_OTHERWISE} | {EXAMPLE} == {*found}
    assert [text for old, text in found.items() if old != EXAMPLE and not is_chinese(text)] == []


@pytest.mark.usefixtures("engine")
def test_lists_of_options_name_them_in_the_visitor_s_language():
    app = open_page("train", task="reverse-digits", lang="zh")
    options = {box.key.partition("-")[0]: box.options for box in app.selectbox if box.key}
    for name, own in (("positions", CHOICES["positions"]), ("schedule", SCHEDULES)):
        assert len(options[name]) == len(own)
        assert all(map(is_chinese, options[name])), options[name]


@pytest.mark.quick("zh")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_menus_lists_and_the_loss_of_the_connection_speak_the_visitor_s_language(
    models_folder, new_visitor, language
):
    words, page = Words(language), new_visitor()
    with running() as (app, home):
        page.goto(f"{home}/?lang={language}")
        page.locator(".lens .says").wait_for()
        settle(page)
        page.get_by_test_id("stMainMenu").get_by_role("button").click()
        menu = page.get_by_test_id("stMainMenuPopover")
        for role, name in (("menuitemradio", "system"), ("menuitemradio", "dark"), ("menuitem", "print")):
            expect(menu.get_by_role(role, name=words(f"streamlit.{name}"))).to_be_visible()
        expect(menu.get_by_test_id("stMainMenuItem-recordScreencast")).to_be_visible(visible=language == "en")
        page.keyboard.press("Escape")
        box = page.get_by_test_id("stSelectbox").locator("input").first
        box.click()
        box.fill("zzz")
        expect(page.get_by_text(words("streamlit.no_results"), exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        app.terminate()
        lost = page.get_by_role("dialog")
        expect(lost).to_contain_text(words("connection.lost"))
        expect(lost).to_contain_text(words("connection.help"))
        expect(lost).not_to_contain_text("yourscript")
        if language == "zh":
            assert english(lost.inner_text().replace(EXAMPLE, "")) == []
    page.close()
