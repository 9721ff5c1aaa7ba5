import base64
import re
import tomllib
from pathlib import Path

import pytest
from made_traces import encoder_trace, packed

from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.views.modules import COMMENT, FOLDER

ROOT = Path(__file__).parents[2]
SOURCES = sorted(FOLDER.glob("*.js"))
ADDRESS = re.compile(r"data:text/javascript;base64,([\w+/=]+)")
ENTRIES = (
    "effects",
    "tinted",
    "streamlit",
    "history",
    "goodbye",
    "translated",
    "lens",
    "choice",
    "panels",
    "bars",
    "lapse",
    "sheet",
    "cloze",
    "map",
    "where",
    "writing",
    "beams",
)
NAMESPACE = "http://www.w3.org/2000/svg"


def texts(text):
    """Yield a module and everything it imports, as the browser gets them."""
    yield text
    for code in ADDRESS.findall(text):
        yield from texts(base64.b64decode(code).decode())


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_module_that_is_named_is_there(source):
    named = re.findall(r'["\']\./([^"\']+)["\']', source.read_text(encoding="utf-8"))
    assert {FOLDER / name for name in named} <= set(SOURCES)


def test_every_module_is_used():
    own = {text for name in ENTRIES for text in texts(views.module(name))}
    assert {views.module(source.stem) for source in SOURCES} == own


def test_keys_are_listened_to_in_one_way():
    listening = {source.name for source in SOURCES if "keydown" in source.read_text(encoding="utf-8")}
    assert listening == {"keys.js", "history.js"}  # the latter only notes that something was pressed


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_nothing_is_imported_but_text_that_stands_there(source):
    for text in texts(views.module(source.stem)):
        imported = re.findall(r'(?:\bfrom|\bimport)\s*\(?\s*["\']([^"\']+)', text)
        assert all(ADDRESS.fullmatch(address) for address in imported), source.name


@pytest.mark.parametrize("source", [*SOURCES, FOLDER / "lens.css"], ids=lambda source: source.name)
def test_no_module_names_an_address_in_a_network(source):
    text = COMMENT.sub("", source.read_text(encoding="utf-8")).replace(NAMESPACE, "")
    text = text.replace("sendBeacon(new URL(data, document.baseURI))", "")  # to the server of the page
    assert not re.search(r"https?:|\bwss?:|//\w+\.|url\(|@import|fetch\(|XMLHttpRequest|sendBeacon", text)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_no_module_makes_markup_or_code_of_text(source):
    text = source.read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text
    )


def test_the_same_module_has_one_address_wherever_it_is_imported():
    """Two addresses would be two modules, each with a state of its own."""
    addresses = {code for text in texts(views.module("lens")) for code in ADDRESS.findall(text)}
    elsewhere = {
        *ENTRIES,
        "alone",
        "curves",
        "panel",
        "paint",
        "candidates",
        "looked",
        "direction",
        "sampling",
        "sliders",
        "maptable",
        "maptensor",
        "numbers",
        "walking",
        "mapdetail",
    }
    assert len(addresses) == len(SOURCES) - len(elsewhere)


def test_the_types_name_every_word_of_the_views():
    words = (FOLDER / "payload.js").read_text(encoding="utf-8")
    words = words[words.index('@typedef {"view"') : words.index("} Words\n")]
    assert {*re.findall(r'"(\w+)"', words)} == {*Words("en").under("lens")}


def test_a_page_is_one_file_with_its_title_and_its_first_choice_as_text():
    page = views.page(
        packed(encoder_trace(["a", "b"])), title="<b>&</b>", start={"view": "</script><script>alert(1)"}
    )
    assert "<title>&lt;b&gt;&amp;&lt;/b&gt;</title>" in page
    assert page.count("<script") == page.count("</script>") == 1
    assert r"\u003c/script>" in page
    assert not re.search(r"https?://", page.replace(NAMESPACE, ""))


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-CN")])
def test_a_page_declares_its_language(language, tag):
    page = views.page(packed(encoder_trace(["a", "b"])), title="", language=language)
    assert page.startswith(f'<!doctype html>\n<html lang="{tag}">\n')


def test_a_page_in_a_file_and_the_app_have_the_same_background():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    page = views.page(packed(encoder_trace(["a", "b"])), title="")
    colours = re.findall(r"--st-background-color: (#\w+)", page)
    assert colours == [settings[theme]["backgroundColor"] for theme in ("light", "dark")]
